import ImgClient
import ImgCrypto
@_spi(Coding) import ImgModel
import ImgSettings
import ImgSystem

/// In which form an export writes the results of a job.
enum ExportForm: Hashable {
  /// A file for each. Without a template, the names are the usual ones.
  case files(named: NameTemplate?)
  /// Shards of so many lines.
  case webdataset(linesPerShard: Int, captionColumn: String?)

  private static let formNames = ["files", "webdataset"]

  private static let form = OptionDescription(
    "--output-format", "FORM",
    help:
      "What DIR gets: files (the default) or webdataset, which is archives with the picture, the JSON and the caption of each "
      + "line, as img2dataset writes them.")
  private static let linesPerShard = OptionDescription(
    "--per-shard", "N",
    help: "How many lines of the job a shard of a webdataset has, with or without pictures (10000)."
  )
  private static let captionColumn = OptionDescription(
    "--caption-column", "NAME",
    help:
      "The column of the job that a webdataset has as captions (caption, if the job has it). See submit --columns."
  )

  private static let names = OptionDescription(
    "--names", "TEMPLATE",
    help:
      "How files are named, such as {id} or {host}/{index:09}: with {index}, {part} (of a thousand lines), {host}, {name} "
      + "(of the URL's path), {hash} (of the URL), {size} and columns of the job. The extension follows. A name that is taken "
      + "gets the index of its line.")

  static let options = [form, names, linesPerShard, captionColumn]

  init(in arguments: ArgumentReader) throws(UsageError) {
    let name = try arguments.value(of: Self.form) { (text) throws(InvalidValue) in
      guard Self.formNames.contains(text) else {
        throw InvalidValue(
          "\(Spelling.quoted(text)) is no form; write \(Self.formNames.joined(separator: " or "))")
      }
      return text
    }
    let count = try arguments.value(of: Self.linesPerShard) { (text) throws(InvalidValue) in
      Int(try UnitScale.count.value(parsing: text, in: ShardLayout.range))
    }
    let caption = try arguments.value(of: Self.captionColumn) { $0 }
    let names = try arguments.value(of: Self.names, NameTemplate.init(parsing:))
    guard name != "webdataset" else {
      guard names == nil else { throw UsageError("--names is for --output-format files") }
      self = .webdataset(linesPerShard: count ?? ShardLayout.standardCount, captionColumn: caption)
      return
    }
    for option in [Self.linesPerShard, Self.captionColumn] where arguments.contains(option) {
      throw UsageError("\(option.flag) is for --output-format webdataset")
    }
    self = .files(named: names)
  }

  /// Its options, for messages.
  var text: String {
    switch self {
    case .files(let template): template.map { " --names \($0.text.shellWord)" } ?? ""
    case .webdataset(let count, let caption):
      " --output-format webdataset"
        + (count == ShardLayout.standardCount ? "" : " --per-shard \(count)")
        + (caption.map { " --caption-column \($0.shellWord)" } ?? "")
    }
  }
}

/// How the lines of a job are spread over the shards of a set, and named in them: as img2dataset does it, so that what reads
/// its sets reads these.
///
/// A key is the number of the shard, followed by that of the line in it, each as wide as the largest needs: keys sort like
/// the list.
struct ShardLayout: Hashable {
  let linesPerShard: Int
  private let shardWidth: Int
  private let lineWidth: Int

  /// What a shard may have. An export holds the lines of one in memory.
  static let range: ClosedRange<Int64> = 1...100_000
  static let standardCount = 10_000
  private static let minimumShardWidth = 5

  /// - Parameter lineCount: of the job.
  init(linesPerShard: Int, lineCount: Int) {
    self.linesPerShard = linesPerShard
    let last = max(0, lineCount - 1) / linesPerShard
    shardWidth = max(Self.minimumShardWidth, String(last).count)
    lineWidth = linesPerShard == 1 ? 0 : String(linesPerShard - 1).count
  }

  /// The number of the shard of a line, from 0.
  func shard(of index: Int) -> Int { index / linesPerShard }

  /// The name of the files of a shard, without what follows the number.
  func name(ofShard shard: Int) -> String { NameTemplate.number(shard, shardWidth) }

  func key(of index: Int) -> String {
    let line = lineWidth == 0 ? "" : NameTemplate.number(index % linesPerShard, lineWidth)
    return name(ofShard: shard(of: index)) + line
  }
}

/// What the samples of a set have of the columns of a job.
struct SetColumns {
  /// Those of the job. A name that a sample has itself is changed.
  let names: [String]
  /// The position of the column with captions; `nil` if there is none.
  let caption: Int?

  static let captionName = "caption"

  /// - Parameter captionColumn: its name; `nil` for one with the usual name, if there is one.
  /// - Throws: ``UsageError`` if the job has no such column.
  init(_ columns: [String], captionColumn: String?) throws(UsageError) {
    caption = columns.firstIndex(of: captionColumn ?? Self.captionName)
    if let captionColumn, caption == nil {
      let known =
        columns.isEmpty
        ? "none; submit --columns keeps columns" : columns.map(\.shellWord).joined(separator: ", ")
      throw UsageError(
        "imgctl: the job has no column \(Spelling.quoted(captionColumn)); it has \(known)")
    }
    let caption = caption
    names = columns.enumerated().map { position, name in
      if position == caption { return Self.captionName }
      return Sample.memberNames.contains(name) || name == Self.captionName ? "column_\(name)" : name
    }
  }
}

/// What a set says of a line: in the shard beside its picture, and in the list of the shard's lines.
struct Sample: Encodable {
  /// The words of img2dataset, and further ones for what it does not know.
  enum Status: String, Encodable {
    case success
    case fetchFailed = "failed_to_download"
    case decodeFailed = "failed_to_resize"
    case cancelled
    case notFinished = "not_finished"
    case notInStore = "not_in_store"
  }

  /// What is known of the picture of a sample.
  struct Picture: Hashable, Fielded {
    private let height: Int
    private let originalHeight: Int
    private let originalWidth: Int
    /// The SHA-256 of the first file of the sample, in hexadecimal digits.
    let hash: String
    /// Whether it was stored after the job had its own, so that it may be another one than the job fetched.
    let isStoredAfterJob: Bool
    let storageTime: WallTime
    private let width: Int

    init(_ record: CacheRecord, hash: String, isStoredAfterJob: Bool) {
      height = record.thumbnail.height
      originalHeight = record.source.height
      originalWidth = record.source.width
      self.hash = hash
      self.isStoredAfterJob = isStoredAfterJob
      storageTime = record.bytesStorageTime
      width = record.thumbnail.width
    }

    init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      height = try f.field("height", value?.height)
      originalHeight = try f.field("original_height", value?.originalHeight)
      originalWidth = try f.field("original_width", value?.originalWidth)
      hash = try f.field("sha256", value?.hash)
      isStoredAfterJob = try f.field("stored_after_job", value?.isStoredAfterJob)
      storageTime = try f.field("stored_at", value?.storageTime)
      width = try f.field("width", value?.width)
    }

    /// What a line without one has in the place of its members.
    static var missing: JSONObject {
      JSONObject(
        [
          "height": nil, "original_height": nil, "original_width": nil, "sha256": nil,
          "stored_after_job": nil, "stored_at": nil, "width": nil,
        ], writesNull: true)
    }
  }

  let key: String
  let status: Status
  private let message: String?
  private let line: LineResult
  private let columns: SetColumns
  private let picture: Picture?

  /// What it has beside columns and the caption.
  static let memberNames: Set<String> = [
    "url", "key", "status", "error_message", "width", "height", "original_width",
    "original_height", "sha256", "index", "stored_at", "stored_after_job",
  ]

  /// - Parameter picture: `nil` for a line without one.
  init(_ key: String, of line: LineResult, _ columns: SetColumns, _ picture: Picture?) {
    (self.key, self.line, self.columns, self.picture) = (key, line, columns, picture)
    (status, message) =
      switch line.outcome {
      case _ where picture != nil: (.success, nil)
      case .done: (.notInStore, "the store has the picture no longer")
      case .failed(let failure, _):
        (
          failure.stage == .decode ? .decodeFailed : .fetchFailed,
          "\(failure.code.rawValue): \(failure.sentence)"
        )
      case .cancelled: (.cancelled, "the job was cancelled")
      case nil: (.notFinished, "the job has not ended")
      }
  }

  func encode(to encoder: any Encoder) throws {
    let url = UnusableRow(ofLine: line.url) == nil ? line.url.withoutPasswords : ""
    // The members of all samples are the same, and those of a picture have the same types: readers take the types of the
    // first ones for those of all.
    try JSONObject(
      ["key": key, "status": status, "error_message": message, "index": line.index, "url": url],
      writesNull: true, beside: ColumnValues(of: line.line, in: columns.names), captionObject,
      Picture.missing, picture
    ).encode(to: encoder)
  }

  /// A caption is always a text.
  private var captionObject: JSONObject? {
    caption.map { JSONObject([SetColumns.captionName: $0]) }
  }

  /// The caption of the line, empty if it has none; `nil` for a set without captions.
  var caption: String? {
    columns.caption.map { ColumnValues(of: line.line, in: columns.names)?.cells[$0] ?? "" }
  }

  /// What the status of the line is counted under.
  var countedStatus: String {
    guard case .failed(let failure, _) = line.outcome, status != .success else {
      return status.rawValue
    }
    return failure.httpStatus.map { "\(failure.code.rawValue) \($0)" } ?? failure.code.rawValue
  }
}

/// What a set says of a shard, under the names of img2dataset.
struct ShardStatistics: Encodable {
  /// What all shards of a directory have in common.
  struct Terms: Hashable, Fielded {
    private let captionColumn: String?
    private let linesPerShard: Int
    let origin: ManifestLine.Origin

    init(of job: ImageJob, _ layout: ShardLayout, _ columns: SetColumns) {
      captionColumn = columns.caption.map { job.columns[$0] }
      linesPerShard = layout.linesPerShard
      origin = ManifestLine.Origin(of: job)
    }

    init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      captionColumn = try f.optional("caption_column", value?.captionColumn)
      origin = try ManifestLine.Origin(&f, value?.origin)
      linesPerShard = try f.field("per_shard", value?.linesPerShard)
    }

    /// Says that a directory has shards of these terms, and an export others.
    ///
    /// - Parameter command: that of an export to another directory.
    func refusal(
      in directory: String, of job: ImageJob, otherwise command: String
    ) -> UsageError {
      let ownOrigin = ManifestLine.Origin(of: job)
      guard origin == ownOrigin else {
        return UsageError(
          "imgctl: \(directory) has shards of \(origin.text(besides: ownOrigin)): \(command)")
      }
      return UsageError(
        "imgctl: \(directory) has shards of the job with other options; to go on with them: imgctl export \(job.job) "
          + "\(directory.shellWord)\(form.text); for another directory: \(command)")
    }

    /// The form of the export.
    var form: ExportForm { .webdataset(linesPerShard: linesPerShard, captionColumn: captionColumn) }
  }

  /// What the next export reads.
  struct Former: Fielded {
    let terms: Terms
    private let successCount: Int

    init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      terms = try Terms(&f, value?.terms)
      successCount = try f.field("successes", value?.successCount)
    }

    var hasSamples: Bool { successCount > 0 }

    /// - Returns: `nil` if the file is not the statistics of a shard.
    static func read(from path: String) -> Former? {
      guard let json = try? FileIO.contents(of: path, upTo: 16 << 20) else { return nil }
      return try? Fields.value(Former.self, of: json[...])
    }
  }

  let terms: Terms
  let startTime: WallTime
  private var counts: [String: Int] = [:]
  private var statusCounts: [Sample.Status: Int] = [:]

  init(_ terms: Terms, startTime: WallTime) {
    self.terms = terms
    self.startTime = startTime
  }

  mutating func count(_ sample: Sample) {
    counts[sample.countedStatus, default: 0] += 1
    statusCounts[sample.status, default: 0] += 1
  }

  func encode(to encoder: any Encoder) throws {
    func seconds(_ time: WallTime) -> Double { Double(time.rawValue) / 1_000 }
    let end = WallTime.now
    try JSONObject(
      [
        "count": counts.values.reduce(0, +), "successes": statusCounts[.success] ?? 0,
        "failed_to_download": statusCounts[.fetchFailed] ?? 0,
        "failed_to_resize": statusCounts[.decodeFailed] ?? 0, "status_dict": counts,
        "start_time": seconds(startTime), "end_time": seconds(end),
        "duration": seconds(end) - seconds(startTime),
      ], beside: terms
    ).encode(to: encoder)
  }
}

/// The samples of an archive: of a shard that an earlier export has written, or of what was made for the one at hand.
final class SampleArchive {
  /// A sample whose picture is as its JSON says.
  struct Archived {
    let picture: Sample.Picture
    fileprivate let members: [TarMember]
    let json: [UInt8]
    /// `nil` without that member.
    let caption: [UInt8]?

    /// Those of the pictures.
    var extensions: [String] { members.map { SampleArchive.extension(of: $0.name) } }
  }

  private let descriptor: CInt
  private(set) var samples: [String: Archived] = [:]
  /// Whether the archive has an end, and each sample its picture.
  private(set) var isIntact = true
  /// Keeps the file open.
  private let owner: AnyObject

  static let jsonExtension = "json"
  static let captionExtension = "txt"

  convenience init(readingFrom path: String) throws {
    let file = OpenFile(try FileIO.open(readingFrom: path))
    try self.init(file.descriptor, ownedBy: file)
  }

  /// - Parameters:
  ///   - descriptor: valid for as long as the archive is.
  ///   - owner: closes the descriptor.
  init(_ descriptor: CInt, ownedBy owner: AnyObject) throws {
    self.descriptor = descriptor
    self.owner = owner
    var reader = TarReader(
      from: descriptor, byteCount: Int(try FileStatus(of: descriptor).byteCount))
    var members: [TarMember] = []
    var key: Substring?
    while let member = try reader.next() {
      let next = member.name.prefix { $0 != "." }
      if let key, next != key { try take(members, key) }
      if next != key { members = [] }
      key = next
      members.append(member)
    }
    // The last sample may be cut off.
    if reader.isAtEnd, let key { try take(members, key) }
    if !reader.isAtEnd { isIntact = false }
  }

  /// A sample whose picture has changed is none.
  private func take(_ members: [TarMember], _ key: Substring) throws {
    func content(_ suffix: String) throws -> [UInt8]? {
      try members.first { $0.name == "\(key).\(suffix)" }.map { try contents($0.content) }
    }
    let described = ["\(key).\(Self.jsonExtension)", "\(key).\(Self.captionExtension)"]
    let pictures = members.filter { !described.contains($0.name) }
    guard let json = try content(Self.jsonExtension), let first = pictures.first,
      let picture = try? Fields.value(Sample.Picture.self, of: json[...]),
      try SHA256.hash(contents(first.content)).hexadecimal == picture.hash
    else {
      isIntact = false
      return
    }
    samples[String(key)] = Archived(
      picture: picture, members: pictures, json: json, caption: try content(Self.captionExtension))
  }

  static func `extension`(of name: String) -> String {
    String(name[(name.lastIndex(of: ".").map(name.index(after:)) ?? name.startIndex)...])
  }

  /// The names and contents of the pictures of a sample.
  func pictures(of sample: Archived) throws -> [(name: String, content: [UInt8])] {
    try sample.members.map { ($0.name, try contents($0.content)) }
  }

  private func contents(_ range: Range<Int>) throws -> [UInt8] {
    try FileIO.contents(of: descriptor, in: range)
  }
}

/// Keeps a file open.
private final class OpenFile {
  private let file: OwnedDescriptor

  init(_ file: consuming OwnedDescriptor) {
    self.file = file
  }

  var descriptor: CInt { file.rawValue }
}
