import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { build } from 'esbuild-wasm'
import { root } from '../run/command.ts'

const web = join(root, 'plugins/web')
const sources = join(web, 'src/browser')

/** The folder that the plugin `web` serves. */
export const pagesFolder = join(web, 'bundle')

/** Files that are served as they are. */
const copied = { 'shell/index.html': 'shell/index.html', 'shell/icon.svg': 'shell/icon.svg' }

/**
 * Bundles the pages of the plugin `web` for browsers. Each page is complete by itself, as a page of any plugin. esbuild-wasm makes the same bytes on every platform.
 *
 * @returns the content of each file, by its path in the bundle
 */
export async function bundlePages(): Promise<Map<string, Uint8Array>> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: {
      'shell/shell': join(sources, 'shell/main.ts'),
      'shell/shell.css': join(sources, 'shell/shell.css'),
      'files/page': join(sources, 'pages/files/page.ts'),
      'files/page.css': join(sources, 'pages/files/page.css'),
      'account/page': join(sources, 'pages/account/page.ts'),
      'account/page.css': join(sources, 'pages/account/page.css'),
      'node/page': join(sources, 'pages/node/page.ts'),
      'node/page.css': join(sources, 'pages/node/page.css'),
      'chat/page': join(sources, 'pages/chat/page.ts'),
      'chat/page.css': join(sources, 'pages/chat/page.css'),
      'wasm/page': join(sources, 'pages/wasm/page.ts'),
      'wasm/page.css': join(sources, 'pages/wasm/page.css'),
    },
    outdir: pagesFolder,
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome123', 'firefox125', 'safari17.5'],
    conditions: ['nodekeep-source'],
    legalComments: 'inline',
    charset: 'utf8',
    logLevel: 'warning',
  })
  const made = outputFiles.map(
    ({ path, contents }) =>
      [relative(pagesFolder, path).replaceAll('\\', '/').replace('.css.css', '.css'), contents] as const,
  )
  const plain = Object.entries(copied).map(
    async ([path, source]) => [path, await readFile(join(sources, source))] as const,
  )
  return new Map([...made, ...(await Promise.all(plain))])
}
