import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { bundleSharePages, sharePagesFolder } from './share-pages.ts'

t.test('the committed pages for guests are what `npm run bundle` makes', async (t) => {
  const made = await bundleSharePages()
  t.same((await readdir(sharePagesFolder)).sort(), [...made.keys()].sort(), 'run `npm run bundle`')
  for (const [path, content] of made)
    t.ok((await readFile(join(sharePagesFolder, path))).equals(content), `${path}: run \`npm run bundle\``)
})
