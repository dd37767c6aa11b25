/// What a person may do to a job that was accepted. ``JobRecord/apply(_:at:)`` says when each is
/// legal and what it does.
package enum JobChange: Hashable, Sendable {
  /// Nothing of it starts any more; what runs is finished.
  case pause
  /// It goes on where it was paused.
  case resume
  /// What has no outcome never gets one, and counts as cancelled.
  case cancel
  /// The failures that may pass are tried again, or with `includesFinal` every failure; what a
  /// cancelled job had not done is done.
  case retry(includesFinal: Bool)
  /// From now on the job has this priority, see ``RequestOptions/priority``.
  case prioritise(Int)
  /// The job, its list and its outcomes are forgotten. Thumbnails stay.
  case remove
}

/// Why a change of a job is refused.
package struct JobChangeRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// A sentence for people that says what to do.
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
    case pause, resume, cancel, retry, prioritise, remove
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
          forKey: .priority, in: container, debugDescription: "a priority is from -2 to 2")
      }
      self = .prioritise(priority)
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
    case .remove: try container.encode(Name.remove, forKey: .change)
    }
  }
}
