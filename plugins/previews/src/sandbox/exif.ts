import readExif from 'exif-reader'
import type { PictureFacts } from '../protocol/orders.ts'

/** Most characters of a camera's name. */
const longestName = 100

/** Returns what the EXIF block of a picture tells. Parts that make no sense count as missing. */
export function factsInExif(block: Buffer | undefined): Pick<PictureFacts, 'taken' | 'place' | 'camera'> {
  const { Image, Photo, GPSInfo } = read(block)
  return {
    taken: dateIn(Photo?.DateTimeOriginal) ?? dateIn(Photo?.DateTimeDigitized),
    place: placeIn(GPSInfo ?? {}),
    camera: cameraIn(Image ?? {}),
  }
}

type Tags = Readonly<Record<string, unknown>>

function read(block: Buffer | undefined): { Image?: Tags; Photo?: Tags; GPSInfo?: Tags } {
  try {
    return block === undefined ? {} : (readExif(block) as ReturnType<typeof read>)
  } catch {
    return {}
  }
}

/** The library reads the time of the camera as if it were UTC. */
function dateIn(value: unknown): string | null {
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) return null
  const text = value.toISOString()
  // Cameras without a set clock write zeros, which become a year long ago.
  return value.getUTCFullYear() >= 1826 && /^\d{4}-/.test(text) ? text.slice(0, 19) : null
}

function placeIn(tags: Tags): PictureFacts['place'] {
  const latitude = degreesIn(tags.GPSLatitude, tags.GPSLatitudeRef === 'S', 90)
  const longitude = degreesIn(tags.GPSLongitude, tags.GPSLongitudeRef === 'W', 180)
  if (latitude === null || longitude === null) return null
  // Zeros are written by cameras that do not know where they are.
  return latitude === 0 && longitude === 0 ? null : { latitude, longitude }
}

/** Degrees, minutes and seconds as one number, with six decimals: a tenth of a meter. */
function degreesIn(value: unknown, isNegative: boolean, most: number): number | null {
  if (!Array.isArray(value) || value.length === 0 || value.length > 3) return null
  const degrees = value.reduce((sum: number, part, at) => sum + Number(part) / 60 ** at, 0)
  if (!Number.isFinite(degrees) || degrees < 0 || degrees > most) return null
  return (Math.round(degrees * 1e6) / 1e6) * (isNegative ? -1 : 1)
}

/** The maker and the model. Many models begin with the maker. */
function cameraIn({ Make, Model }: Tags): string | null {
  const [make, model] = [textOf(Make), textOf(Model)]
  const isRepeated = model.toLowerCase().startsWith(make.toLowerCase())
  const name = (isRepeated ? model : `${make} ${model}`).trim()
  return name === '' ? null : name.slice(0, longestName)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.replace(/[\p{Cc}\ufffd]/gu, '').trim() : ''
}
