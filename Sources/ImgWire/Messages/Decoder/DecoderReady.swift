package import ImgModel

/// The state of a decoder that has started.
package struct DecoderReady: Hashable, Sendable, Codable {
  package let sandbox: SandboxReport

  package init(sandbox: SandboxReport) {
    self.sandbox = sandbox
  }
}
