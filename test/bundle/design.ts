import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundled, sources } from './pages.ts'

/** Bundles the page that shows all parts of the pages with their states. It is for people who make pages, and in no package. */
export async function bundleDesign(): Promise<Map<string, Uint8Array>> {
  const made = await bundled({
    design: 'design/main.ts',
    'design.css': 'design/design.css',
    'shell.css': 'shell/shell.css',
  })
  const plain = { 'index.html': 'design/index.html', 'icon.svg': 'shell/icon.svg' }
  const copied = Object.entries(plain).map(
    async ([path, source]) => [path, await readFile(join(sources, source))] as const,
  )
  return new Map([...made, ...(await Promise.all(copied))])
}
