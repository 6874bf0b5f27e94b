//! Links beside PCI Express, gathered: devices of which each two have the same link are one group and one line in the picture.

use std::collections::HashSet;

use super::Beside;

/// Devices each two of which have the same link.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group<'a> {
    pub(super) what: &'a str,
    pub(super) members: Vec<&'a str>,
}

/// Groups that hold every link once: each begins with a link that is in none yet and takes every device that fits.
pub(super) fn of(links: &[Beside]) -> Vec<Group<'_>> {
    let known: HashSet<(&str, &str, &str)> = links
        .iter()
        .map(|link| {
            (
                link.ends.0.as_str(),
                link.ends.1.as_str(),
                link.what.as_str(),
            )
        })
        .collect();
    let linked = |a, b, what| known.contains(&(a, b, what)) || known.contains(&(b, a, what));
    let mut groups: Vec<Group<'_>> = Vec::new();
    for link in links {
        let (a, b) = (link.ends.0.as_str(), link.ends.1.as_str());
        let is_in_one = groups.iter().any(|group| {
            group.what == link.what && group.members.contains(&a) && group.members.contains(&b)
        });
        if is_in_one || a == b {
            continue;
        }
        let mut members = vec![a, b];
        for other in links
            .iter()
            .flat_map(|link| [link.ends.0.as_str(), link.ends.1.as_str()])
        {
            let fits = members
                .iter()
                .all(|member| *member != other && linked(*member, other, link.what.as_str()));
            if fits {
                members.push(other);
            }
        }
        groups.push(Group {
            what: &link.what,
            members,
        });
    }
    groups
}
