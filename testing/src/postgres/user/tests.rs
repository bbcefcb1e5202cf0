//! Tests of reading `/etc/passwd`.

use super::User;

#[test]
fn a_user_is_found_by_its_whole_name() {
    let passwd = "root:x:0:0:root:/root:/bin/sh\nnobody2:x:7:8::/:/x\nnobody:x:65534:65533:n:/:/x\n";
    assert_eq!(User::named("nobody", passwd), Some(User { uid: 65534, gid: 65533 }));
    assert_eq!(User::named("ann", passwd), None);
    assert_eq!(User::named("nobody", "nobody:x:-2:-2::/:/x"), None);
}
