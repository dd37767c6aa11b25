import TestPictures
import Testing

@testable import ImgDecode

/// Which profiles are known to say nothing new.
struct SRGBProfileTests {
  private func isSRGB(_ bytes: [UInt8]) -> Bool { ICCProfile(bytes)?.isSRGB == true }

  @Test func `a profile with the curve of sRGB as parameters is sRGB`() {
    #expect(isSRGB(ColourProfile.rgb(primaries: .sRGB, curve: .sRGB)))
  }

  @Test func `a profile with the curve of sRGB as samples is sRGB`() {
    #expect(isSRGB(ColourProfile.rgb(primaries: .sRGB, curve: .sampledSRGB)))
  }

  @Test func `a profile with another curve or other primaries is not sRGB`() {
    #expect(!isSRGB(ColourProfile.rgb(primaries: .sRGB, curve: .gamma(2.2))))
    #expect(!isSRGB(ColourProfile.rgb(primaries: .displayP3, curve: .sRGB)))
  }

  @Test func `a profile with tables is not sRGB`() {
    #expect(!isSRGB(ColourProfile.swappedPerceptual))
  }

  @Test func `a gray profile is not sRGB`() {
    #expect(!isSRGB(ColourProfile.gray(gamma: 2.2)))
  }

  @Test func `no cut of a profile is sRGB, and none is read beyond its end`() {
    let bytes = ColourProfile.rgb(primaries: .sRGB, curve: .sRGB)
    // The last tag ends with the profile.
    for count in 0..<bytes.count { #expect(!isSRGB(Array(bytes.prefix(count)))) }
  }
}
