import ImgModel

/// What `--json` prints when requests are answered.
struct StartReport: Encodable {
  /// Of the page in a browser, with a slash at its end; or `unix:` and the path of a socket.
  let address: String
  let pid: Int32
  /// What confines the gateway.
  let sandbox: SandboxReport
  /// As in the JSON of commands.
  let schema = 1

  private enum CodingKeys: String, CodingKey {
    case address, pid, sandbox, schema
  }
}
