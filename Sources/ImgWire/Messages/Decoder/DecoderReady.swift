package import ImgModel

/// The state of a decoder that has started, before it has seen a picture.
package struct DecoderReady: Hashable, Sendable, Codable {
  package let processID: Int32
  package let sandbox: SandboxReport

  package init(processID: Int32, sandbox: SandboxReport) {
    self.processID = processID
    self.sandbox = sandbox
  }

  private enum CodingKeys: String, CodingKey {
    case processID = "pid"
    case sandbox
  }
}
