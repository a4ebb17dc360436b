/** `npm run app-icons`: makes the pictures of the installed app from `icon.svg`. They are committed. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { root } from '../run/command.ts'

const folder = join(root, 'plugins/web/src/browser/shell')
const round = await readFile(join(folder, 'icon.svg'), 'utf8')

/** Systems cut the corners of these themselves. */
const square = round.replace(/ rx="\d+"/, '')

const pictures = [
  { name: 'icon-192.png', icon: round, pixels: 192 },
  { name: 'icon-512.png', icon: round, pixels: 512 },
  { name: 'maskable-icon.png', icon: square, pixels: 512 },
  { name: 'touch-icon.png', icon: square, pixels: 180 },
]

for (const { name, icon, pixels } of pictures) {
  const picture = sharp(Buffer.from(icon), { density: 72 * 16 }).resize(pixels, pixels)
  await picture.png({ palette: true, compressionLevel: 9 }).toFile(join(folder, name))
}
