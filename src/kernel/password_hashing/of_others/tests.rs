//! Hashes that the services' own programs made, and some that nobody should have to compare.

use crate::kernel::password_hashing::of_others::{HashOfOthers, InvalidHash};

const BY_OTHERS: &[(&str, &str)] = &[
    ("correct horse", "$2y$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e"),
    ("correct horse", "$wp$2y$04$abcdefghijklmnopqrstuujv/86KBUqWwIdPp0uRATkCcvgptl1Pm"),
    ("correct horse", "$scrypt$ln=10,r=8,p=1$MDEyMzQ1Njc4OWFiY2RlZg$6g3umF+uVrJsObaTZhIbbTlgrvOEFcCItdwSjtPF67M"),
    (
        "user1password",
        "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==\
         $42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
    ),
    ("correct horse", "pbkdf2_sha256$1000$NaCl$y6UK+57OG2yJnZIbS3E5E599IliwIIbBdkxEFXXGYlM="),
    ("correct horse", "pbkdf2_sha1$1000$NaCl$wTijAypcehTb83ax3kkR/eHCLg0="),
    (
        "correct horse",
        "$pbkdf2-sha512$i=1000,l=64$MDEyMzQ1Njc4OWFiY2RlZg$OM0FAoIqCVK1sWtxDiffVlBejtLa+ks4TP71JiecwuSZCG8iLbnlIEPOMoVX+i2B2wkSxjQ8CRGR9OkNGuIPMQ",
    ),
    ("correct horse", "$pbkdf2-sha256$1000$MDEyMzQ1Njc4OWFiY2RlZg$cBg8D2DungRB9k76szThf5ehfyBz991ay6PT8Srwk4M"),
    ("password", "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$iekCn0Y3spW+sCcFanM2xBT63UP2sghkUoHLIUpWRS8"),
    ("password", "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"),
    ("password", "argon2$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"),
    ("test12345", "$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0"),
    // better-auth
    (
        "correct horse",
        "000102030405060708090a0b0c0d0e0f:9372e2d20f7c9ba55e54d10569dfe24824c5765383f46b040e9ac7b33041339c514173900cb63a37c935c0e2f40cfe2cb39bee\
         5fe58f54715c1fd913c4638373",
    ),
    // Medusa
    (
        "correct horse",
        "c2NyeXB0AA8AAAAIAAAAAQcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHbIYB9E+wX/vfSkYp3kFo/7ojUiNZ082zPQWn42HPBqS07ex+HvsEEhXr4GmQ1x+z",
    ),
    // Magento: as it is, upgraded once, and upgraded twice.
    ("correct horse", "ce72dc691453c89fc8a2efc2fcd6b691fbd4f9a9598d93b00b62973c67897268:8qnyO4H1OYIfGCUb:2"),
    ("correct horse", "70992a815a27869115c29edf5220f8f4e42bddc371c01e90efaedd119ddecaad:8qnyO4H1OYIfGCUb:3_32_2_8388608"),
    ("correct horse", "c9aceeb81b4247956851e0001d8514c8a3264b0d8aaf7c795950b4459c9b9441:8qnyO4H1OYIfGCUb:1:2"),
    ("correct horse", "609d3a15748c38e7c45b2ef26167198245ffeb49649b8f82d4226b15daee7eff:8qnyO4H1OYIfGCUb:0:1:3_32_2_8388608"),
];

#[test]
fn a_password_is_right_for_the_hash_that_another_service_made_of_it() {
    for (password, hash) in BY_OTHERS {
        let read: HashOfOthers = hash.parse().unwrap_or_else(|error| panic!("{hash}: {error}"));
        assert!(read.is_of(password.as_bytes()), "{hash}");
        assert!(!read.is_of(b"battery staple"), "{hash}");
    }
}

#[test]
fn a_hash_that_would_take_long_or_much_memory_is_refused() {
    for costly in [
        "$scrypt$ln=20,r=8,p=1$MDEyMzQ1Njc4OWFiY2RlZg$6g3umF+uVrJsObaTZhIbbTlgrvOEFcCItdwSjtPF67M",
        "$scrypt$ln=16,r=8,p=4$MDEyMzQ1Njc4OWFiY2RlZg$6g3umF+uVrJsObaTZhIbbTlgrvOEFcCItdwSjtPF67M",
        "pbkdf2_sha256$1500001$NaCl$y6UK+57OG2yJnZIbS3E5E599IliwIIbBdkxEFXXGYlM=",
        "$argon2id$v=19$m=65537,t=1,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$argon2id$v=19$m=65536,t=5,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$P$FIQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0",
        "ce72dc691453c89fc8a2efc2fcd6b691fbd4f9a9598d93b00b62973c67897268:8qnyO4H1OYIfGCUb:3_32_2_134217728",
        "ce72dc691453c89fc8a2efc2fcd6b691fbd4f9a9598d93b00b62973c67897268:8qnyO4H1OYIfGCUb:2:2:2",
    ] {
        assert_eq!(costly.parse::<HashOfOthers>().err(), Some(InvalidHash::TooCostly), "{costly}");
    }
}

#[test]
fn a_usual_hash_of_bcrypt_is_taken_and_others_by_how_long_they_take_here() {
    let takes_too_long = |cost: &str| {
        let hash = format!("$2b${cost}$abcdefghijklmnopqrstuufJyGQz74MaXA58G4n4SAlu8WLjGODFe");
        hash.parse::<HashOfOthers>().unwrap().takes_too_long()
    };
    assert!(!takes_too_long("04") && !takes_too_long("12") && !takes_too_long("13"));
    // The first takes a minute on a fast machine, the last four days.
    assert!(takes_too_long("20") && takes_too_long("31"));
}

#[test]
fn a_fast_hash_is_refused() {
    for weak in [
        "ce92627940873203d166775c57502957ccf37ca6e48f9765b328b1763fdc7ed3:8qnyO4H1OYIfGCUb:1",
        "ce92627940873203d166775c57502957ccf37ca6e48f9765b328b1763fdc7ed3:8qnyO4H1OYIfGCUb:0:1",
    ] {
        assert_eq!(weak.parse::<HashOfOthers>().err(), Some(InvalidHash::TooWeak), "{weak}");
    }
}

#[test]
fn what_a_hash_has_not_read_is_known() {
    let reads_all = |hash: &str, password: &str| hash.parse::<HashOfOthers>().unwrap().reads_all_of(password.as_bytes());
    let (bcrypt, word_press) = (BY_OTHERS[0].1, BY_OTHERS[1].1);
    assert!(reads_all(bcrypt, &"x".repeat(71)) && !reads_all(bcrypt, &"x".repeat(72)) && !reads_all(bcrypt, &"é".repeat(36)));
    // It reads a digest of all but the blanks around it.
    assert!(reads_all(word_press, &"x".repeat(72)) && !reads_all(word_press, "correct horse "));
    assert!(reads_all(BY_OTHERS[2].1, &"x".repeat(256)));
}

#[test]
fn what_is_no_hash_or_a_damaged_one_is_refused() {
    let long = format!("$2y$04${}", "a".repeat(600));
    for unknown in [
        "",
        "correct horse",
        "5f4dcc3b5aa765d61d8327deb882cf99",
        "$2y$04$short",
        "$scrypt$ln=0,r=8,p=1$MDEyMzQ1Njc4OWFiY2RlZg$6g3umF+uVrJsObaTZhIbbTlgrvOEFcCItdwSjtPF67M",
        "pbkdf2_sha256$0$NaCl$y6UK+57OG2yJnZIbS3E5E599IliwIIbBdkxEFXXGYlM=",
        "pbkdf2_sha256$1000$NaCl$AAAA",
        "pbkdf2_md5$1000$NaCl$y6UK+57OG2yJnZIbS3E5E599IliwIIbBdkxEFXXGYlM=",
        "$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L",
        "000102030405060708090a0b0c0d0e0f:9372e2d20f7c9ba5",
        "5f4dcc3b5aa765d61d8327deb882cf99:ab",
        // Another byte in the checksum.
        "c2NyeXB0AA8AAAAIAAAAAQcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHbIYB9E+wX/vfSkYp3kFo/rojUiNZ082zPQWn42HPBqS07ex+HvsEEhXr4GmQ1x+z",
        "c2NyeXB0AA8AAAAI",
        "ce72dc691453c89fc8a2efc2fcd6b691fbd4f9a9598d93b00b62973c67897268:8qnyO4H1OYIfGCUb:4",
        "ce72dc691453c89f:8qnyO4H1OYIfGCUb:2",
        &long,
    ] {
        assert_eq!(unknown.parse::<HashOfOthers>().err(), Some(InvalidHash::Unknown), "{unknown}");
    }
}
