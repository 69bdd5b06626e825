//! A mail server that stores or refuses the mails it receives.

use std::collections::HashMap;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A mail server on loopback.
#[derive(Clone)]
pub struct SmtpSink {
    address: SocketAddr,
    mails: Arc<Mutex<Vec<String>>>,
    /// What it answers to a command, other than usual.
    answers: Arc<Mutex<HashMap<&'static str, &'static str>>>,
    silent: Arc<AtomicBool>,
}

impl SmtpSink {
    /// A server that accepts every mail, or refuses every mail.
    pub async fn start(refuses: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let sink = Self { address: listener.local_addr().unwrap(), mails: Arc::default(), answers: Arc::default(), silent: Arc::default() };
        sink.refuse(refuses);
        let server = sink.clone();
        #[expect(clippy::disallowed_methods, reason = "it ends with the runtime of the test")]
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = server.clone();
                tokio::spawn(async move { server.converse(stream).await });
            }
        });
        sink
    }

    pub fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }

    /// Sets whether the server refuses the recipients of mails for good.
    pub fn refuse(&self, refuses: bool) {
        self.answer("RCPT", if refuses { "550 no such mailbox" } else { "250 ok" });
    }

    /// Sets what the server answers to a command.
    pub fn answer(&self, command: &'static str, answer: &'static str) {
        self.answers.lock().unwrap().insert(command, answer);
    }

    /// From now on the server receives mails but does not respond.
    pub fn fall_silent(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }

    /// Every mail as received, with its headers.
    pub fn mails(&self) -> Vec<String> {
        self.mails.lock().unwrap().clone()
    }

    async fn converse(&self, stream: TcpStream) -> Option<()> {
        let (reader, mut writer) = stream.into_split();
        let mut lines = BufReader::new(reader).lines();
        writer.write_all(b"220 sink\r\n").await.ok()?;
        while let Some(line) = lines.next_line().await.ok()? {
            let command = line.split(' ').next()?.to_ascii_uppercase();
            let set = self.answers.lock().unwrap().get(command.as_str()).copied();
            if let Some(answer) = set {
                writer.write_all(format!("{answer}\r\n").as_bytes()).await.ok()?;
                continue;
            }
            let answer: &[u8] = match command.as_str() {
                "DATA" => {
                    writer.write_all(b"354 go on\r\n").await.ok()?;
                    let mut mail = String::new();
                    while let Some(line) = lines.next_line().await.ok()?.filter(|line| line != ".") {
                        mail.push_str(&line);
                        mail.push('\n');
                    }
                    self.mails.lock().unwrap().push(mail);
                    if self.silent.load(Ordering::Relaxed) {
                        pending::<()>().await;
                    }
                    b"250 kept\r\n"
                }
                "QUIT" => b"221 bye\r\n",
                _ => b"250 ok\r\n",
            };
            writer.write_all(answer).await.ok()?;
        }
        Some(())
    }
}

/// The code in a mail: the only word of six digits.
pub fn code_in(mail: &str) -> String {
    let text = mail.split_once("\n\n").expect("a mail has a body").1;
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    let code = words.into_iter().find(|word| word.len() == 6 && word.bytes().all(|byte| byte.is_ascii_digit()));
    code.expect("the mail contains a code").to_owned()
}
