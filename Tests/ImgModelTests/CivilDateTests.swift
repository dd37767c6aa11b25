import ImgModel
import Testing

@Suite struct CivilDateTests {
  @Test(
    arguments: [
      (1970, 1, 1, 0), (1969, 12, 31, -1), (1970, 3, 1, 59), (2000, 2, 29, 11_016),
      (2000, 3, 1, 11_017), (2023, 11, 14, 19_675), (1600, 3, 1, -135_080), (0, 3, 1, -719_468),
      (9999, 12, 31, 2_932_896),
    ] as [(Int64, Int64, Int64, Int64)])
  func `a day has its number since 1970`(
    year: Int64, month: Int64, day: Int64, number: Int64
  ) throws {
    #expect(try #require(CivilDate(year: year, month: month, day: day)).daysSince1970 == number)
    let same = CivilDate(daysSince1970: number)
    #expect((same.year, same.month, same.day) == (year, month, day))
  }

  @Test(
    arguments: [
      (2023, 2, 29), (1900, 2, 29), (2024, 2, 30), (2024, 4, 31), (2024, 0, 1), (2024, 13, 1),
      (2024, 1, 0), (2024, 1, 32),
    ] as [(Int64, Int64, Int64)])
  func `a day that does not exist is refused`(year: Int64, month: Int64, day: Int64) {
    #expect(CivilDate(year: year, month: month, day: day) == nil)
  }

  @Test func `consecutive days of 400 years have consecutive numbers`() throws {
    var number = try #require(CivilDate(year: 1999, month: 12, day: 31)).daysSince1970
    var wrongDays: [CivilDate] = []
    for year in 2000..<2400 as Range<Int64> {
      for month in 1...12 as ClosedRange<Int64> {
        for day in 1...31 as ClosedRange<Int64> {
          guard let date = CivilDate(year: year, month: month, day: day) else { continue }
          number += 1
          if date.daysSince1970 != number { wrongDays.append(date) }
        }
      }
    }
    #expect(wrongDays.isEmpty)
    #expect(number == 10_956 + 146_097)
  }
}
