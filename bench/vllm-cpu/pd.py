"""Answers of a direct run beside those through `tplens serve route`, token by token, at temperature 0.

Usage: pd.py DIRECT ROUTE COUNT (URLs of the prefill engine and of the router). Exit code 1 where one differs or fails.
"""

import json
import random
import sys
import urllib.error
import urllib.request

TOKENS = 16


def answer(url, prompt):
    body = {"model": "model", "prompt": prompt, "max_tokens": TOKENS, "temperature": 0}
    body |= {"ignore_eos": True, "return_token_ids": True}
    head = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/completions", json.dumps(body).encode(), head)
    try:
        with urllib.request.urlopen(request, timeout=600) as reply:
            return json.load(reply)["choices"][0]["token_ids"]
    except urllib.error.HTTPError as error:
        return f"HTTP {error.code}: {error.read()[:200].decode(errors='replace')}"


def main():
    direct, route, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    rng = random.Random(1)
    same, answers = 0, set()
    for _ in range(count):
        prompt = [rng.randrange(2, 2000) for _ in range(rng.randrange(20, 200))]
        one, other = answer(direct, prompt), answer(route, prompt)
        if one == other and len(one) == TOKENS:
            same += 1
            answers.add(tuple(one))
        else:
            print(f"{len(prompt)} tokens: {one} is not {other}")
    print(f"{same} of {count} answers equal, {len(answers)} different ones, {TOKENS} tokens each")
    sys.exit(same != count or len(answers) < count)


if __name__ == "__main__":
    main()
