import encodeQR from 'qr'

/** The light modules around a code (ISO/IEC 18004). */
const quietZone = 4

/** Returns the rows of the QR code of a text: `true` is a dark module. */
export function qrModules(text: string): boolean[][] {
  return encodeQR(text, 'raw', { border: quietZone })
}
