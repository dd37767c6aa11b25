import ImgModel
import ImgSettings
import Testing

@Suite struct HostRateTests {
  @Test(arguments: [
    ("5/s", 300), ("30/m", 30), ("120/h", 2), ("60/h", 1), ("1/M", 1), ("10000/s", 600_000),
    ("none", 0),
  ])
  func `a rate is a whole number a minute`(text: String, perMinute: Int) throws {
    #expect(try HostRate.perMinute(parsing: text) == perMinute)
  }

  @Test(arguments: [
    (0, "none"), (1, "1/m"), (59, "59/m"), (60, "1/s"), (300, "5/s"), (90, "90/m"),
    (600_000, "10000/s"),
  ])
  func `the text of a rate is the shortest exact one`(
    perMinute: Int, text: String
  ) throws {
    #expect(HostRate.text(perMinute: perMinute) == text)
    #expect(try HostRate.perMinute(parsing: text) == perMinute)
  }

  @Test(arguments: [
    (
      "5",
      "\"5\" is not a rate; write a whole number with /s, /m or /h, such as 5/s or 30/m, or \"none\""
    ),
    (
      "0",
      "\"0\" is not a rate; write a whole number with /s, /m or /h, such as 5/s or 30/m, or \"none\""
    ),
    (
      "0/s",
      "\"0/s\" would allow no transfer; write \"none\" for no limit, or 1/m, the lowest rate"
    ),
    (
      "0/h",
      "\"0/h\" would allow no transfer; write \"none\" for no limit, or 1/m, the lowest rate"
    ),
    ("30/h", "\"30/h\" is too low; rates are whole numbers a minute, and the lowest is 1/m"),
    ("59/h", "\"59/h\" is too low; rates are whole numbers a minute, and the lowest is 1/m"),
    ("10001/s", "\"10001/s\" is not from 1/m to 10000/s"),
    ("100/h", "\"100/h\" is not a whole number a minute; write 1/m or 2/m"),
    ("3599/h", "\"3599/h\" is not a whole number a minute; write 59/m or 1/s"),
    ("99999999999999999999/s", "\"99999999999999999999/s\" is too large"),
  ])
  func `an invalid rate is refused with advice`(text: String, sentence: String) {
    #expect(throws: InvalidValue(sentence)) { try HostRate.perMinute(parsing: text) }
  }

  @Test func `every rate that is read is in the range of the limit`() throws {
    for text in ["none", "1/m", "10000/s"] {
      #expect(LimitChange.hostRateRange.contains(try HostRate.perMinute(parsing: text)))
    }
  }
}
