/** `npm run app-icons`: makes the pictures of the installed app from `icon.svg`, with Chromium. They are committed. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { launchChromium } from '../browser/chromium.ts'
import { root } from '../run/command.ts'

const folder = join(root, 'plugins/web/src/browser/shell')

/**
 * The pictures by name: pixels of a side, and the part of the side that the icon takes. Systems cut the corners of those with a margin:
 * a circle of 80 % of the side is always seen (W3C, Web Application Manifest, "Icon masks and safe zone").
 */
const pictures = {
  'icon-192.png': { pixels: 192, part: 1 },
  'icon-512.png': { pixels: 512, part: 1 },
  'maskable-icon.png': { pixels: 512, part: 0.7 },
  'touch-icon.png': { pixels: 180, part: 0.8 },
}

const icon = await readFile(join(folder, 'icon.svg'), 'utf8')
const [, color = ''] = /<rect[^>]*fill="(#[0-9a-f]+)"/.exec(icon) ?? []
const browser = await launchChromium()
for (const [name, { pixels, part }] of Object.entries(pictures)) {
  const page = await browser.newPage({ viewport: { width: pixels, height: pixels } })
  const background = part === 1 ? 'transparent' : color
  const side = pixels * part
  await page.setContent(`<!doctype html>
    <style>
      html { background: ${background} }
      body { margin: 0; display: grid; place-items: center; height: 100vh }
      svg { width: ${side}px; height: ${side}px }
    </style>${icon}`)
  await writeFile(join(folder, name), await page.screenshot({ omitBackground: true }))
}
await browser.close()
