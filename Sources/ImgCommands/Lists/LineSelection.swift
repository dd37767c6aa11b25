import ImgClient
import ImgCrypto
import ImgModel
import ImgSettings

/// Which lines of its lists a job takes: those that are left after each of the properties, in this order.
package struct LineSelection: Hashable, Sendable {
  /// The share of one of several machines that have the same lists: no host is in two of them.
  package struct Shard: Hashable, Sendable {
    /// From 1.
    let number: Int
    let count: Int

    private static let maximumCount = 100_000

    init(parsing text: String) throws(InvalidValue) {
      let numbers = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
      guard numbers.count == 2, let number = numbers[0], let count = numbers[1],
        (1...Self.maximumCount).contains(count), (1...count).contains(number)
      else {
        throw InvalidValue(
          "\(Spelling.quoted(text)) is not I/N, such as 1/4 for the first of four shares, and 4/4 for the last"
        )
      }
      (self.number, self.count) = (number, count)
    }

    /// Whether the host of a line is of the share; of a line without a host, the line itself.
    func contains(_ line: String, _ url: ImageURL?) -> Bool {
      let host = url.flatMap { $0.isLocal || $0.isReadByCommand ? nil : $0.host } ?? line
      return LineHash(host).first % UInt64(count) == UInt64(number - 1)
    }
  }

  let skippedCount: Int
  let shard: Shard?
  let isUnique: Bool
  let sampleCount: Int?
  let limit: Int?

  static let skip = OptionDescription(
    "--skip", "N", help: "Leave out the first N URLs of the lists.")
  static let shard = OptionDescription(
    "--shard", "I/N",
    help:
      "Take the I-th of N shares of the hosts, such as 1/4. N machines that have the same lists take all of their URLs "
      + "and share no host.")
  static let unique = OptionDescription(
    "--unique",
    help:
      "Take each URL once, in its normal spelling. The first line of several is taken. Takes some 60 bytes of memory for each URL."
  )
  static let sample = OptionDescription(
    "--sample", "N",
    help:
      "Take N of the URLs by chance, in the order of the lists. The same lists give the same sample. The lists are read to "
      + "their end first.")
  static let limit = OptionDescription(
    "--limit", "N", help: "Take at most N URLs, and read no further.")

  /// In the order in which they apply.
  static let options = [skip, shard, unique, sample, limit]

  private static let countRange: ClosedRange<Int64> = 0...1_000_000_000_000
  private static let sampleRange: ClosedRange<Int64> = 1...10_000_000

  /// All lines.
  package init() {
    (skippedCount, shard, isUnique, sampleCount, limit) = (0, nil, false, nil, nil)
  }

  init(in arguments: ArgumentReader) throws(UsageError) {
    func count(
      of option: OptionDescription, _ range: ClosedRange<Int64>
    ) throws(UsageError) -> Int? {
      try arguments.value(of: option) { (text) throws(InvalidValue) in
        Int(try UnitScale.count.value(parsing: text, in: range))
      }
    }
    skippedCount = try count(of: Self.skip, Self.countRange) ?? 0
    shard = try arguments.value(of: Self.shard, Shard.init(parsing:))
    isUnique = arguments.contains(Self.unique)
    sampleCount = try count(of: Self.sample, Self.sampleRange)
    limit = try count(of: Self.limit, 1...Self.countRange.upperBound)
  }

  var takesAll: Bool { self == LineSelection() }
}

/// Takes the lines that a selection leaves of lists.
struct LineSelector {
  private let selection: LineSelection
  private var batcher = SubmissionBatcher()
  private var sample: LineSample?
  private var known: Set<LineHash> = []
  /// The lines of the lists so far, those that were taken, and those that a part of the selection has left out.
  private(set) var readCount = 0
  private var takenCount = 0
  private var otherShardCount = 0
  private var duplicateCount = 0

  init(_ selection: LineSelection) {
    self.selection = selection
    sample = selection.sampleCount.map(LineSample.init)
  }

  /// Whether it takes no later line.
  var isComplete: Bool { sample == nil && isFull }

  private var isFull: Bool { selection.limit.map { takenCount >= $0 } ?? false }

  /// - Returns: the batches that are full.
  mutating func take(_ lines: ListLines) -> [ListLines] {
    guard !selection.takesAll else { return [lines] }
    var full: [ListLines] = []
    lines.forEach { line in
      guard !isComplete, passes(line.text) else { return }
      if sample != nil {
        sample?.add(line)
      } else if let batch = submit(line) {
        full.append(batch)
      }
    }
    return full
  }

  /// - Returns: the last batches, at the end of the lists.
  mutating func finish() -> [ListLines] {
    var full: [ListLines] = []
    let lines = sample?.finish() ?? []
    sample = nil
    for line in lines where !isFull {
      if let batch = submit(line) { full.append(batch) }
    }
    return full + [batcher.finish()].compactMap(\.self)
  }

  private mutating func submit(_ line: ListLine) -> ListLines? {
    takenCount += 1
    return batcher.add(line)
  }

  /// Whether a line is left after the parts before the sample.
  private mutating func passes(_ line: String) -> Bool {
    readCount += 1
    guard readCount > selection.skippedCount else { return false }
    let url = try? ImageURL(listed: line)
    if let shard = selection.shard, !shard.contains(line, url) {
      otherShardCount += 1
      return false
    }
    // A line that is no URL is none twice.
    guard selection.isUnique, let url, !known.insert(LineHash(url.text)).inserted else {
      return true
    }
    duplicateCount += 1
    return false
  }

  /// What was taken and left out, for people; `nil` if all was taken.
  var text: String? {
    guard !selection.takesAll else { return nil }
    let counts = [
      (min(selection.skippedCount, readCount), "skipped"), (otherShardCount, "of other shares"),
      (duplicateCount, duplicateCount == 1 ? "duplicate" : "duplicates"),
    ]
    let parts = counts.filter { $0.0 > 0 }.map { "\($0) \($1)" }
    let rest = parts.isEmpty ? "" : ", without \(parts.joined(separator: ", "))"
    let read = HumanText.count(readCount, of: "line")
    return "takes \(takenCount) of \(isComplete ? "the first " : "")\(read)\(rest)"
  }
}

/// Lines of lists by chance: each has the same chance, and the same lists give the same sample.
private struct LineSample {
  private struct Ranked {
    /// By chance, but the same for the same line of the same lists.
    let rank: LineHash
    let order: Int
    let line: ListLine
  }

  private let count: Int
  /// Those with the lowest ranks so far, and some with higher ones.
  private var lines: [Ranked] = []
  private var readCount = 0
  /// The highest rank that may still be of the sample; `nil` for any.
  private var bound: LineHash?

  init(count: Int) {
    self.count = count
  }

  mutating func add(_ line: ListLine) {
    readCount += 1
    let rank = LineHash("\(readCount) \(line.text)")
    if let bound, bound < rank { return }
    lines.append(Ranked(rank: rank, order: readCount, line: line))
    if lines.count > 2 * count + 1_000 { shrink() }
  }

  private mutating func shrink() {
    lines.sort { $0.rank < $1.rank }
    lines.removeLast(max(0, lines.count - count))
    bound = lines.last?.rank
  }

  /// The sample in the order of the lists.
  mutating func finish() -> [ListLine] {
    shrink()
    return lines.sorted { $0.order < $1.order }.map(\.line)
  }
}

/// The beginning of the SHA-256 of a text, which no two URLs of any list have in common, and which is the same on all
/// machines.
struct LineHash: Hashable, Comparable {
  let first: UInt64
  private let second: UInt64

  init(_ text: String) {
    let hash = SHA256.hash(Array(text.utf8))
    func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    (first, second) = (number(hash[..<8]), number(hash[8..<16]))
  }

  static func < (left: LineHash, right: LineHash) -> Bool {
    (left.first, left.second) < (right.first, right.second)
  }
}
