/// A change that a user makes to an accepted job. ``JobRecord/apply(_:at:)`` defines when each
/// change is legal and what it does.
package enum JobChange: Hashable, Sendable {
  /// Starts no more URLs of the job. URLs in progress finish.
  case pause
  /// Continues a paused job.
  case resume
  /// Ends the job. URLs without an outcome count as cancelled.
  case cancel
  /// Retries the retryable failures, or every failure if `includesFinal` is set. In a cancelled
  /// job, also continues with the cancelled URLs.
  case retry(includesFinal: Bool)
  /// Sets the job's priority, see ``RequestOptions/priority``.
  case prioritise(Int)
  /// Ends the pins of the job: what it has stored may be evicted, see ``PinPolicy``.
  case unpin
  /// Deletes the job, its list and its outcomes. Its thumbnails stay in the store.
  case remove
}

/// The reason why the coordinator refuses a change of a job.
package struct JobChangeRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// A sentence for people. It tells them what to do.
  package let description: String

  package init(description: String) {
    self.description = description
  }
}

extension JobChange: Codable {
  private enum CodingKeys: String, CodingKey {
    case change, priority
    case includesFinal = "all"
  }

  private enum Name: String, Codable {
    case pause, resume, cancel, retry, prioritise, unpin, remove
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Name.self, forKey: .change) {
    case .pause: self = .pause
    case .resume: self = .resume
    case .cancel: self = .cancel
    case .retry:
      self = .retry(includesFinal: try container.decode(Bool.self, forKey: .includesFinal))
    case .prioritise:
      let priority = try container.decode(Int.self, forKey: .priority)
      guard RequestOptions.priorityRange.contains(priority) else {
        throw DecodingError.dataCorruptedError(
          forKey: .priority, in: container, debugDescription: "the priority must be from -2 to 2")
      }
      self = .prioritise(priority)
    case .unpin: self = .unpin
    case .remove: self = .remove
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .pause: try container.encode(Name.pause, forKey: .change)
    case .resume: try container.encode(Name.resume, forKey: .change)
    case .cancel: try container.encode(Name.cancel, forKey: .change)
    case .retry(let includesFinal):
      try container.encode(Name.retry, forKey: .change)
      try container.encode(includesFinal, forKey: .includesFinal)
    case .prioritise(let priority):
      try container.encode(Name.prioritise, forKey: .change)
      try container.encode(priority, forKey: .priority)
    case .unpin: try container.encode(Name.unpin, forKey: .change)
    case .remove: try container.encode(Name.remove, forKey: .change)
    }
  }
}
