import ImgModel

@testable import ImgFetch

/// The head with these fields, a line each.
func responseHead(
  _ lines: [String], status: Int = 200, receivedAt: WallTime = WallTime(rawValue: 784_111_777_000)
) -> ResponseHead {
  ResponseHead(status: status, fields: headFields(lines), receivedAt: receivedAt)
}

/// The fields of a head, a line each.
func headFields(_ lines: [String]) -> HeadFields {
  var fields = HeadFields()
  for line in lines { fields.take(line: Array("\(line)\r\n".utf8)) }
  return fields
}
