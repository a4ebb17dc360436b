/** Pixels in rows: red, green, blue and opacity of each, not multiplied. */
export interface Pixels {
  readonly width: number
  readonly height: number
  readonly rgba: Uint8Array
}

/**
 * Scales pixels down by a whole number, so that the longer side still has a length: each pixel becomes the mean of a square. It spares
 * memory on the way to the node. Whoever shows the picture scales it exactly.
 *
 * @returns the same pixels if they have less than twice the length
 */
export function scaleDown(pixels: Pixels, longestSide: number): Pixels {
  const factor = Math.floor(Math.max(pixels.width, pixels.height) / longestSide)
  // A narrow picture keeps at least one pixel.
  if (factor < 2 || Math.min(pixels.width, pixels.height) < factor) return pixels
  const width = Math.floor(pixels.width / factor)
  const height = Math.floor(pixels.height / factor)
  const rgba = new Uint8Array(4 * width * height)
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1)
      writeMean(pixels, x * factor, y * factor, factor, rgba, 4 * (y * width + x))
  }
  return { width, height, rgba }
}

/** Writes the mean of a square. A pixel counts as much as it is opaque. */
function writeMean(
  { width, rgba: from }: Pixels,
  left: number,
  top: number,
  side: number,
  to: Uint8Array,
  at: number,
): void {
  let red = 0
  let green = 0
  let blue = 0
  let opacity = 0
  for (let y = top; y < top + side; y += 1) {
    const end = 4 * (y * width + left + side)
    for (let i = 4 * (y * width + left); i < end; i += 4) {
      const weight = from[i + 3] ?? 0
      red += (from[i] ?? 0) * weight
      green += (from[i + 1] ?? 0) * weight
      blue += (from[i + 2] ?? 0) * weight
      opacity += weight
    }
  }
  const divisor = Math.max(opacity, 1)
  to[at] = Math.round(red / divisor)
  to[at + 1] = Math.round(green / divisor)
  to[at + 2] = Math.round(blue / divisor)
  to[at + 3] = Math.round(opacity / (side * side))
}
