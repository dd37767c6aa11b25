package import ImgModel

/// What confines a worker and its decoders.
package struct WorkerSandbox: Hashable, Sendable, Codable {
  package let worker: SandboxReport
  package let decoder: SandboxReport

  package init(worker: SandboxReport, decoder: SandboxReport) {
    self.worker = worker
    self.decoder = decoder
  }
}
