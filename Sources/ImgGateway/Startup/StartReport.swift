/// What `--json` prints when requests are answered.
struct StartReport: Encodable {
  /// With a slash at its end.
  let address: String
  let pid: Int32
  /// As in the JSON of commands.
  let schema = 1

  private enum CodingKeys: String, CodingKey {
    case address, pid, schema
  }
}
