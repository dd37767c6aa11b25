import ImgModel
import Testing

/// URLs with passwords in texts for people.
@Suite(.timeLimit(.minutes(20))) struct URLPasswordTests {
  @Test(arguments: [
    ("http://ada:secret@h/a.jpg", "http://ada:***@h/a.jpg"),
    ("https://ada:secret@h:8443?x=1", "https://ada:***@h:8443?x=1"),
    ("http://:secret@h/", "http://:***@h/"),
    ("http://ada:se:cr@et@h/", "http://ada:***@h/"),
    ("http://ada:se/cret@h/", "http://ada:***@h/"),
    ("ftp://ada:secret@h#f", "ftp://ada:***@h#f"),
    ("http://ada:secret@[::1]:80/", "http://ada:***@[::1]:80/"),
    (
      "the redirect from http://a:secret@h/1 to http://b:secret@i/2, which",
      "the redirect from http://a:***@h/1 to http://b:***@i/2, which"
    ),
    ("http://h/?next=http://a:secret@i/", "http://h/?next=http://a:***@i/"),
    ("http://ü:secret@h/ü", "http://ü:***@h/ü"),
    ("ada:secret@h/a.jpg", "ada:***@h/a.jpg"),
    ("//ada:secret@h/a.jpg", "//ada:***@h/a.jpg"),
    ("imgctl: ada:secret@h/a.jpg: invalid_url", "imgctl: ada:***@h/a.jpg: invalid_url"),
  ])
  func `a password is replaced`(text: String, shown: String) {
    #expect(text.withoutPasswords == shown)
    #expect(Failure(stage: .fetch, code: .internal, detail: text).detail == shown)
  }

  @Test(arguments: [
    "", "http://", "://", "http://h/a.jpg", "http://ada@h/", "http://ada:@h/", "http://h:80/a@b",
    "http://[::1]/a:b@c", "http://h/a:b@c", "mailto:ada@example.org", "http://h/?mail=a:b@c",
  ])
  func `a text without passwords is unchanged`(text: String) {
    #expect(text.withoutPasswords == text)
  }
}
