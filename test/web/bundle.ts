/** `npm run bundle`: writes the pages of the plugin `web` for browsers into `plugins/web/bundle`. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { build } from 'esbuild-wasm'
import { root } from '../run/command.ts'

const web = join(root, 'plugins/web')
const sources = join(web, 'src/browser')

/** The folder that the plugin serves. */
export const bundleFolder = join(web, 'bundle')

/** Files that are served as they are. */
const copied = { 'shell/index.html': 'shell/index.html', 'shell/icon.svg': 'shell/icon.svg' }

/**
 * Bundles the pages. Each page is complete by itself, as a page of any plugin. esbuild-wasm makes the same bytes on every platform.
 *
 * @returns the content of each file, by its path in the bundle
 */
export async function bundle(): Promise<Map<string, Uint8Array>> {
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
    outdir: bundleFolder,
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
      [relative(bundleFolder, path).replaceAll('\\', '/').replace('.css.css', '.css'), contents] as const,
  )
  const plain = Object.entries(copied).map(
    async ([path, source]) => [path, await readFile(join(sources, source))] as const,
  )
  return new Map([...made, ...(await Promise.all(plain))])
}

if (import.meta.main) {
  await rm(bundleFolder, { recursive: true, force: true })
  for (const [path, content] of await bundle()) {
    const file = join(bundleFolder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content)
  }
}
