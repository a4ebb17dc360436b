import { join } from 'node:path'
import { createTestNode } from '@nodekeep/kernel/testing'
import t from 'tap'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { largestTab } from './browser-memory.ts'
import { scrollGrid, showGrid, writePictures } from './fixtures/picture-grid.ts'
import { openSignedInTab } from './fixtures/signed-in-tab.ts'

/** The limits for a person who scrolls through a folder of pictures. `npm run bench -- web` measures how smooth that is. */
const most = { tiles: 200, tabBytes: 300e6 }

t.test('a folder of 10,000 pictures stays small in the grid', { skip: needsChromium }, async (t) => {
  const plugins = { files: true, 'storage-local': true, web: true }
  const node = await createTestNode({ config: { plugins }, folder: import.meta.dirname })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await writePictures(join(node.dataFolder, 'files', ada.user.uuid, 'many'))
  const browser = await startChromium(t)
  const { page, faults } = await openSignedInTab(browser, node, ada)
  await showGrid(page, node.url, '/many')
  let tiles = 0
  const tab = await largestTab(browser, async () => {
    tiles = (await scrollGrid(page)).tiles
  })
  t.comment(`At most ${tiles} tiles, the tab at most ${Math.round(tab / 1e6)} MB.`)
  t.ok(tiles > 0 && tiles <= most.tiles)
  t.ok(tab > 0 && tab <= most.tabBytes)
  t.strictSame(faults, [])
})
