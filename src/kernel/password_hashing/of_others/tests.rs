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
        "$2y$13$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e",
        "$scrypt$ln=20,r=8,p=1$MDEyMzQ1Njc4OWFiY2RlZg$6g3umF+uVrJsObaTZhIbbTlgrvOEFcCItdwSjtPF67M",
        "$scrypt$ln=16,r=8,p=4$MDEyMzQ1Njc4OWFiY2RlZg$6g3umF+uVrJsObaTZhIbbTlgrvOEFcCItdwSjtPF67M",
        "pbkdf2_sha256$1500001$NaCl$y6UK+57OG2yJnZIbS3E5E599IliwIIbBdkxEFXXGYlM=",
        "$argon2id$v=19$m=65537,t=1,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$argon2id$v=19$m=65536,t=5,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$P$FIQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0",
    ] {
        assert_eq!(costly.parse::<HashOfOthers>().err(), Some(InvalidHash::TooCostly), "{costly}");
    }
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
        &long,
    ] {
        assert_eq!(unknown.parse::<HashOfOthers>().err(), Some(InvalidHash::Unknown), "{unknown}");
    }
}
