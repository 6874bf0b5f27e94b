//! How many tokens each chunk of a reply carried, where that is known. No metric itself.

use crate::ServeRequest;

/// Tokens of each chunk: what the server told, or one each where their number is that of the tokens.
///
/// `None` where neither holds, or where there are no chunks.
pub fn tokens_of_chunks(request: &ServeRequest) -> Option<Vec<u32>> {
    let chunks = request.token_chunks_ms.len();
    if chunks == 0 {
        return None;
    }
    if request.chunk_tokens.len() == chunks {
        return Some(request.chunk_tokens.clone());
    }
    let single = request.output_tokens? as usize == chunks;
    single.then(|| vec![1; chunks])
}
