import ImgClient
import ImgModel
import ImgSettings
import ImgStore
import ImgSystem
import ImgWire
import TestFiles
import Testing

@testable import ImgCommands

/// `imgctl get`, and what it has in common with `submit`.
extension InvocationTests {
  @Test func `get takes a delay and a viewer`() throws {
    let plain = try command("get http://h/", as: GetCommand.self)
    #expect(plain.viewer == nil && plain.options.delay == .zero)
    let get = try command("get http://h/ --viewer left --delay 250ms", as: GetCommand.self)
    #expect(get.viewer == "left" && get.options.delay == .milliseconds(250))
    let longest = String(repeating: "v", count: GetRequest.maximumViewerByteCount)
    #expect(try command("get http://h/ --viewer \(longest)", as: GetCommand.self).viewer == longest)
    for name in ["", longest + "v"] {
      #expect(
        throws: UsageError("imgctl get: --viewer: a viewer's name has 1 to 200 bytes")
      ) { try invocation("get http://h/ --viewer=\(name)") }
    }
  }

  @Test func `get takes --progress, and submit does not`() throws {
    #expect(try !command("get http://h/", as: GetCommand.self).showsProgress)
    #expect(try command("get http://h/ --progress", as: GetCommand.self).showsProgress)
    #expect(
      throws: UsageError(
        "imgctl submit: unknown option \"--progress\"; it is an option of get")
    ) { try invocation("submit - --progress") }
  }

  @Test func `get takes --incremental, with a file or JSON for the previews`() throws {
    #expect(try !command("get http://h/", as: GetCommand.self).isIncremental)
    for options in ["-o a.png", "--json", "--json -o a.png"] {
      let text = "get http://h/ --incremental \(options)"
      #expect(try command(text, as: GetCommand.self).isIncremental)
    }
    for (kind, previewsRows) in ["": false, "=auto": false, "=force": true] {
      let text = "get http://h/ --json --incremental\(kind)"
      #expect(try command(text, as: GetCommand.self).previewsRows == previewsRows)
    }
    #expect(
      throws: UsageError("imgctl get: --incremental: \"rows\" is not one of auto, force")
    ) { try invocation("get http://h/ --json --incremental=rows") }
    for options in ["", " -o -"] {
      #expect(
        throws: UsageError(
          "imgctl get: --incremental: standard output takes one picture; use -o FILE for "
            + "previews, or --json")
      ) { try invocation("get http://h/ --incremental\(options)") }
    }
    #expect(
      throws: UsageError(
        "imgctl submit: unknown option \"--incremental\"; it is an option of get")
    ) { try invocation("submit - --incremental") }
  }

  @Test func `get takes --no-cache`() throws {
    #expect(try !command("get http://h/", as: GetCommand.self).options.bypassesStore)
    #expect(try command("get http://h/ --no-cache", as: GetCommand.self).options.bypassesStore)
    #expect(
      throws: UsageError(
        "imgctl submit: unknown option \"--no-cache\"; --cache-policy reload fetches again what is stored"
      )
    ) { try invocation("submit - --no-cache") }
  }

  @Test(arguments: [
    ("http://h/a", "/rs:fit:256:256/plain/http://h/a"),
    ("h.example/a --size 600x", "/rs:fit:600:0/plain/https://h.example/a"),
    ("http://h/a?b@c --size 30x20 --crop --enlarge", "/rs:fill:30:20:1/plain/http://h/a%3Fb%40c"),
    (
      "http://h/a --size 30 --crop=attention --quality 70 --format jpg",
      "/rs:fill:30:30/g:sm/q:70/plain/http://h/a@jpeg"
    ),
    ("http://h/a --crop=0.5,0.25", "/rs:fill:256:256/g:fp:0.5:0.25/plain/http://h/a"),
    ("/rs:fit:3:2/plain/http://h/a", "/rs:fit:3:2/plain/http://h/a"),
  ])
  func `sign makes the path of a picture`(words: String, path: String) throws {
    #expect(try command("sign --key-file k \(words)", as: SignCommand.self).targets == [path])
  }

  @Test(arguments: [
    ("http://h/ --crop=entropy", "--crop=entropy: the gateway's paths have no word for it"),
    (
      "http://h/ --format compatible",
      "--format compatible: the gateway's paths have no word for it"
    ),
    ("http://h/ --size 9x --crop", "--crop needs a box with both sides, such as 600x400"),
    ("file:///a", "file:///a: the gateway serves no files; a path begins with a slash"),
    (
      "/plain/http://h/ --size 9",
      "--size is for the URL of a picture; \"/plain/http://h/\" has its own options"
    ),
    (
      "http://h/ --gateway h",
      "--gateway: \"h\" is no address of a gateway; write it as https://img.example.org"
    ),
  ])
  func `sign says what no path can say`(words: String, error: String) throws {
    #expect(throws: UsageError("imgctl sign: \(error)")) {
      try invocation("sign --key-file k \(words)")
    }
  }

  @Test func `get writes to a file or to standard output`() throws {
    #expect(try command("get http://h/", as: GetCommand.self).outputPath == nil)
    #expect(try command("get http://h/ -o -", as: GetCommand.self).outputPath == nil)
    let file = try command("get http://h/ -o a.jpg --json", as: GetCommand.self)
    #expect(file.outputPath == "a.jpg" && file.isJSON && file.picture == "http://h/")
  }

  @Test func `get takes several pictures, and the picture as it came`() throws {
    let several = try command("get http://h/ a.png -o d/", as: GetCommand.self)
    #expect(several.pictures == ["http://h/", "a.png"] && several.outputPath == "d/")
    #expect(try command("get --original http://h/ -o a.tiff", as: GetCommand.self).isOriginal)
    for (line, reason) in [
      ("get http://h/ a.png --viewer v -o d/", "--viewer is for one picture"),
      (
        "get --original http://h/ --size 3",
        "--size is for thumbnails, and --original for the picture as it came"
      ),
    ] {
      #expect(throws: UsageError("imgctl get: " + reason)) { try invocation(line) }
    }
  }

  @Test(arguments: CachePolicy.allCases)
  func `submit and get take each cache policy`(policy: CachePolicy) throws {
    let option = "--cache-policy \(policy.rawValue)"
    #expect(
      try command("submit a \(option)", as: SubmitCommand.self).options.fetch.cachePolicy == policy)
    #expect(
      try command("get http://h/ \(option)", as: GetCommand.self).options.fetch.cachePolicy
        == policy)
    #expect(
      try command("submit a", as: SubmitCommand.self).options.fetch.cachePolicy == .cacheElseLoad)
  }
}

/// The format of a thumbnail and the name of its file.
extension InvocationTests {
  @Test(
    arguments: [
      ("-o a.png", .png), ("-oa.JPG", .jpeg), ("-o a.webp", .webp), ("--output=b.d/a.avif", .avif),
      ("-o a.txt", .auto), ("-o a", .auto), ("-o a.gif", .gif),
      ("-o -", .auto), ("", .auto),
      ("-o a.jpg --format webp", .webp), ("-o a.jpg --format auto", .auto),
    ] as [(String, ImageVariant.Format)])
  func `the extension of the output file selects the format unless an option does`(
    options: String, format: ImageVariant.Format
  ) throws {
    let get = try command("get http://h/ \(options)", as: GetCommand.self)
    #expect(get.options.variant == (try Variant.standard.changed { $0.format = format }))
    let cacheGet = try command("cache get http://h/ \(options)", as: CacheGetCommand.self)
    #expect(cacheGet.variant == (try Variant.standard.changed { $0.format = format }))
  }
}

/// Where `imgctl get` finds a thumbnail. No coordinator runs, and none may be started.
@Suite(.timeLimit(.minutes(20))) struct ThumbnailSearchTests {
  private let directory = TestDirectory()
  private let context: CommandContext
  private let url: ImageURL
  private let options = RequestOptions(variant: .standard)
  private static let bytes: [UInt8] = Array(1...9)

  init() throws {
    url = try ImageURL(parsing: "https://example.org/a.jpg")
    var settings = Settings(socketPath: directory.path + "/socket", dataDirectory: directory.path)
    settings.autostart = false
    let output = Output(descriptor: 1)
    context = CommandContext(settings: settings, output: output, messages: output, isQuiet: true)
  }

  /// Stores a thumbnail that expires in one hour.
  private func store(isDamaged: Bool = false) throws {
    let store = try SharedStore(
      directory: context.settings.storeDirectory, access: .readWrite(budgetByteCount: 64 << 20)
    ) { _ in }
    let name = PictureName(url)
    try store.current().put(
      [
        NewThumbnail(
          key: ContentKey(name, variant: .standard), url: url.text,
          thumbnail: Thumbnail(
            format: .jpeg, width: 4, height: 3, byteCount: Self.bytes.count, isDamaged: isDamaged),
          source: SourcePicture(format: .png, width: 40, height: 30, byteCount: 900),
          retention: Retention(after: .seconds(3_600)), bytes: Self.bytes)
      ], at: .now)
  }

  private func find(
    _ options: RequestOptions, viewer: String? = nil
  ) throws -> FoundThumbnail {
    let search = ThumbnailSearch(
      choice: VariantChoice(
        variant: options.variant, isLenient: options.isLenient, formatSource: .nothing),
      viewer: viewer)
    return try search.thumbnail(of: url, options, in: context)
  }

  /// Whether the coordinator, which is not there, was asked.
  private func asksCoordinator(
    _ options: RequestOptions, viewer: String? = nil
  ) throws -> Bool {
    do {
      _ = try find(options, viewer: viewer)
      return false
    } catch ClientError.notAutostarted {
      return true
    }
  }

  @Test func `a stored thumbnail is read without the coordinator`() throws {
    try store()
    guard case .stored(let found, let isFromCache, let timings) = try find(options)
    else {
      Issue.record("nothing is found")
      return
    }
    #expect(found.record.thumbnail.width == 4)
    #expect(found.bytes == Self.bytes)
    #expect(isFromCache)
    #expect(timings == nil)
  }

  @Test func `without a store, or with another variant in it, the coordinator is asked`() throws {
    #expect(try asksCoordinator(options))
    try store()
    #expect(try !asksCoordinator(options))
    var other = options
    other.variant = try Variant.standard.changed { $0.format = .png }
    #expect(try asksCoordinator(other))
  }

  @Test(arguments: [false, true])
  func `a stored thumbnail of a damaged picture answers lenient ones only`(isDamaged: Bool) throws {
    try store(isDamaged: isDamaged)
    #expect(try asksCoordinator(options) == isDamaged)
    #expect(try !asksCoordinator(RequestOptions(variant: .standard, isLenient: true)))
  }

  @Test func `the coordinator is asked for what only it can do`() throws {
    try store()
    #expect(
      try asksCoordinator(options, viewer: "cell"), "it replaces the viewer's earlier request")
    var bypassing = options
    bypassing.bypassesStore = true
    #expect(try asksCoordinator(bypassing))
    let delayed = RequestOptions(variant: .standard, delay: .seconds(1))
    #expect(try asksCoordinator(delayed))
    let keepsOriginal = RequestOptions(variant: .standard, keep: .all)
    #expect(try asksCoordinator(keepsOriginal), "the store has no original")
  }

  @Test(arguments: [(1_800, false), (7_200, true)])
  func `the coordinator is asked for a later expiry`(seconds: Int, isAsked: Bool) throws {
    try store()
    let options = RequestOptions(variant: .standard, expiry: Expiry(.after(.seconds(seconds))))
    #expect(try asksCoordinator(options) == isAsked)
  }
}

@Suite struct PictureSourceTests {
  private static let files = ["photo.jpg", "example.org", "example.org/a.jpg", "//h.example/a"]

  @Test(
    arguments: [
      ("https://h/a", .url("https://h/a")), ("<https://h/a>", .url("<https://h/a>")),
      ("data:,a", .url("data:,a")), ("localhost:80/a", .url("localhost:80/a")),
      ("photo.jpg", .file("photo.jpg")), ("gone.jpg", .file("gone.jpg")),
      ("images/a.jpg", .file("images/a.jpg")), ("/srv/a.jpg", .file("/srv/a.jpg")),
      ("./a:b", .file("./a:b")), ("-", .file("-")), ("file:///srv/a.jpg", .file("/srv/a.jpg")),
      ("example.org", .file("example.org")), ("example.org/a.jpg", .file("example.org/a.jpg")),
      ("example.org/b.jpg", .url("example.org/b.jpg")), ("//h.example/a", .file("//h.example/a")),
      ("//h.example/b", .url("//h.example/b")),
    ] as [(String, PictureSource)])
  func `a text is a file, or a URL by its beginning`(text: String, source: PictureSource) throws {
    #expect(try PictureSource(text) { Self.files.contains($0) } == source)
  }
}

/// How much of a picture has arrived, for people.
struct DownloadTextTests {
  @Test(arguments: [
    (1, 5_000_000, "0 % of 4.8 MiB"), (2_499_999, 5_000_000, "49 % of 4.8 MiB"),
    (4_999_999, 5_000_000, "99 % of 4.8 MiB"), (5_000_000, 5_000_000, "100 % of 4.8 MiB"),
    (2_000, 2_000, "100 % of 2.0 KiB"), (Int.max, Int.max, "100 % of 8388608 TiB"),
  ])
  func `a download of known length has a percentage`(received: Int, expected: Int, text: String) {
    let progress = ImageProgress(receivedByteCount: received, expectedByteCount: expected)
    #expect(HumanText.download(progress) == text)
  }

  @Test func `a download of unknown length has what has arrived`() {
    #expect(HumanText.download(ImageProgress(receivedByteCount: 655_360)) == "640 KiB")
    // No origin sends more than it declares.
    let empty = ImageProgress(receivedByteCount: 10, expectedByteCount: 0)
    #expect(HumanText.download(empty) == "10 B")
  }
}
