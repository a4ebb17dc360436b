import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { bundlePages, pages, pagesFolder } from './pages.ts'

/** The files that a browser loads before it shows anything. */
const shell = ['shell/index.html', 'shell/shell.js', 'shell/chunk.js', 'shell/shell.css']

t.test('the committed pages are what `npm run bundle` makes', async (t) => {
  const made = await bundlePages()
  const entries = await readdir(pagesFolder, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
  t.same(files.sort(), [...made.keys()].map((path) => join(pagesFolder, path)).sort(), 'run `npm run bundle`')
  for (const [path, content] of made) {
    t.ok((await readFile(join(pagesFolder, path))).equals(content), `${path}: run \`npm run bundle\``)
  }
  const sizeOf = (paths: readonly string[]) =>
    paths.reduce((sum, path) => sum + gzipSync(made.get(path) ?? '', { level: 9 }).length, 0)
  for (const page of pages) {
    const size = sizeOf([...shell, `${page}/page.js`, `${page}/page.css`])
    t.ok(size < 200_000, `the first view of "${page}" has ${size} compressed bytes`)
  }
})
