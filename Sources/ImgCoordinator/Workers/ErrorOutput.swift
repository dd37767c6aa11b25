/// What a process writes to standard error: a worker's own lines for the log, and messages of
/// libraries, whose number, length and content a picture may choose.
///
/// Of lines that come close together the first two become one message: a panic says first what
/// happened, and where, and then who called whom.
struct ErrorOutput: Sendable {
  /// How long a message waits for others, and for the process's death, which is logged with it.
  static let messageDelay = Duration.seconds(1)
  static let maximumMessageByteCount = 300
  static let maximumMessageLineCount = 2
  /// A line is cut off here.
  static let maximumLineByteCount = 4_096

  /// The program's name, which stands in each line of its own behind the time; `nil` for a program
  /// that a picture may control, none of whose lines is its own.
  private let program: String?
  /// The line that has begun and not ended.
  private var line: [UInt8] = []
  private var messageLines: [String] = []
  /// When the message can wait no longer; `nil` while there is none.
  private(set) var messageDeadline: ContinuousClock.Instant?

  init(program: String?) {
    self.program = program
  }

  /// - Returns: the lines of its own that are complete now.
  mutating func receive(
    _ bytes: some Sequence<UInt8>, at now: ContinuousClock.Instant
  ) -> [String] {
    var lines: [String] = []
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        if let own = endLine(at: now) { lines.append(own) }
      } else if line.count < Self.maximumLineByteCount {
        line.append(byte)
      }
    }
    return lines
  }

  /// No more will come: what has begun is complete.
  ///
  /// - Returns: the last line, if it is the program's own.
  mutating func end(at now: ContinuousClock.Instant) -> String? {
    line.isEmpty ? nil : endLine(at: now)
  }

  /// The message of the libraries, which is forgotten; `nil` when there is none.
  mutating func takeMessage() -> String? {
    guard !messageLines.isEmpty else { return nil }
    defer { (messageLines, messageDeadline) = ([], nil) }
    let message = messageLines.joined(separator: "; ")
    return String(decoding: message.utf8.prefix(Self.maximumMessageByteCount), as: UTF8.self)
  }

  private mutating func endLine(at now: ContinuousClock.Instant) -> String? {
    defer { line.removeAll(keepingCapacity: true) }
    guard program != nil || !isMessageFull else { return nil }
    // No control character reaches a terminal that shows the log.
    let text = String(
      String.UnicodeScalarView(
        String(decoding: line, as: UTF8.self).unicodeScalars.map {
          $0.properties.generalCategory == .control ? " " : $0
        }))
    let words = text.split(separator: " ")
    if let program, words.dropFirst().first == "\(program):" { return text }
    add(words.joined(separator: " "), at: now)
    return nil
  }

  private var isMessageFull: Bool { messageLines.count >= Self.maximumMessageLineCount }

  private mutating func add(_ text: String, at now: ContinuousClock.Instant) {
    guard !text.isEmpty, !isMessageFull else { return }
    if messageLines.isEmpty { messageDeadline = now + Self.messageDelay }
    messageLines.append(text)
  }
}
