/** The waves that a side of the picture has at most. */
const maximumWaveCount = 7;
/** The longer side of the drawing in pixels: the waves have no finer details. */
const longerSide = 32;

/**
 * Draws the picture that a ThumbHash describes: sums of cosine waves in four planes, which are
 * luminance, the differences yellow to blue and red to green, and opacity.
 *
 * @param {string} text in base64
 * @returns {ImageData|null} `null` for a text that is no ThumbHash
 */
export function thumbHashDrawing(text) {
  const hash = parse(text);
  if (hash === null) {
    return null;
  }
  const { ratio } = hash;
  const width = Math.max(1, Math.round(longerSide * Math.min(1, ratio)));
  const height = Math.max(1, Math.round(longerSide * Math.min(1, 1 / ratio)));
  const drawing = new ImageData(width, height);
  const columns = Array.from({ length: width }, (_, x) => cosines(x, width));
  for (let y = 0; y < height; y += 1) {
    const row = cosines(y, height);
    columns.forEach((column, x) => {
      drawing.data.set(pixel(hash, column, row), 4 * (y * width + x));
    });
  }
  return drawing;
}

function parse(text) {
  const bytes = decodedBase64(text);
  if (bytes === null || bytes.length < 6) {
    return null;
  }
  const header = bytes[0] | (bytes[1] << 8) | (bytes[2] << 16);
  const shape = bytes[3] | (bytes[4] << 8);
  const hasAlpha = header >> 23 !== 0;
  const longest = hasAlpha ? 5 : 7;
  const shortest = shape & 7;
  if (shortest < 1 || shortest > longest) {
    return null;
  }
  const [columns, rows] = shape >> 15 !== 0 ? [longest, shortest] : [shortest, longest];
  const strengths = strengthsOf(bytes.subarray(hasAlpha ? 6 : 5));
  return {
    ratio: columns / rows,
    luminance: plane(
      (header & 63) / 63, ((header >> 18) & 31) / 31, Math.max(3, columns), Math.max(3, rows),
      strengths),
    // The scale of the colour differences was enlarged by 1.25 before it was rounded.
    yellowBlue: plane(
      ((header >> 6) & 63) / 31.5 - 1, ((shape >> 3) & 63) / 63 * 1.25, 3, 3, strengths),
    redGreen: plane(
      ((header >> 12) & 63) / 31.5 - 1, ((shape >> 9) & 63) / 63 * 1.25, 3, 3, strengths),
    alpha: hasAlpha
      ? plane((bytes[5] & 15) / 15, (bytes[5] >> 4) / 15, 5, 5, strengths)
      : { average: 1, waves: [] },
  };
}

function decodedBase64(text) {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

/** Reads 4 bits after 4 bits, from -1 to 1. A hash that ends too early goes on with zeros. */
function strengthsOf(bytes) {
  let position = 0;
  return () => {
    const byte = bytes[position >> 1] ?? 0;
    const bits = position % 2 === 0 ? byte & 15 : byte >> 4;
    position += 1;
    return bits / 7.5 - 1;
  };
}

/** Takes the waves below a diagonal, row after row, but for the constant one. */
function plane(average, scale, columns, rows, nextStrength) {
  const waves = [];
  for (let row = 0; row < rows; row += 1) {
    for (let column = row === 0 ? 1 : 0; column * rows < columns * (rows - row); column += 1) {
      // A wave in one direction counts twice.
      waves.push({ column, row, strength: 2 * nextStrength() * scale });
    }
  }
  return { average, waves };
}

/** Each wave at the middle of a pixel. */
function cosines(position, length) {
  return Array.from({ length: maximumWaveCount }, (_, wave) =>
    Math.cos((Math.PI / length) * (position + 0.5) * wave));
}

function value({ average, waves }, horizontal, vertical) {
  return waves.reduce(
    (sum, wave) => sum + wave.strength * horizontal[wave.column] * vertical[wave.row], average);
}

/** The samples of a pixel; those beyond the range are clamped where they are stored. */
function pixel(hash, horizontal, vertical) {
  const luminance = value(hash.luminance, horizontal, vertical);
  const blue = luminance - (2 / 3) * value(hash.yellowBlue, horizontal, vertical);
  const difference = value(hash.redGreen, horizontal, vertical);
  const red = (3 * luminance - blue + difference) / 2;
  const alpha = value(hash.alpha, horizontal, vertical);
  return [red, red - difference, blue, alpha].map((sample) => 255 * sample);
}
