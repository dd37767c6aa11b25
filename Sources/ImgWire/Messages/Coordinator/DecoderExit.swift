package import ImgModel

/// The end of one decoder process.
package struct DecoderExit: Hashable, Sendable {
  package enum End: Hashable, Sendable {
    /// The process called exit with this value.
    case exited(Int32)
    /// The signal with this number killed the process.
    case signalled(Int32)
    /// There is no process, for this reason.
    case notStarted(String)
  }

  package let decoder: DecoderID
  package let end: End

  package init(decoder: DecoderID, end: End) {
    self.decoder = decoder
    self.end = end
  }
}

/// Exactly one of the members `exit_status`, `signal` and `not_started` is present.
extension DecoderExit: Codable {
  private enum CodingKeys: String, CodingKey {
    case decoder
    case exitStatus = "exit_status"
    case signal
    case notStarted = "not_started"
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.decoder = try container.decode(DecoderID.self, forKey: .decoder)
    if let status = try container.decodeIfPresent(Int32.self, forKey: .exitStatus) {
      end = .exited(status)
    } else if let signal = try container.decodeIfPresent(Int32.self, forKey: .signal) {
      end = .signalled(signal)
    } else {
      end = .notStarted(try container.decode(String.self, forKey: .notStarted))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(decoder, forKey: .decoder)
    switch end {
    case .exited(let status): try container.encode(status, forKey: .exitStatus)
    case .signalled(let signal): try container.encode(signal, forKey: .signal)
    case .notStarted(let reason): try container.encode(reason, forKey: .notStarted)
    }
  }
}
