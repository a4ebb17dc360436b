import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { type BuildOptions, build } from 'esbuild-wasm'
import { root } from '../run/command.ts'

const web = join(root, 'plugins/web')
/** The folder with the sources of the pages. */
export const sources = join(web, 'src/browser')

/** The folder that the plugin `web` serves. */
export const pagesFolder = join(web, 'bundle')

/** Files that are served as they are. `npm run app-icons` makes the pictures. */
const copied = [
  'shell/index.html',
  'shell/icon.svg',
  'shell/icon-192.png',
  'shell/icon-512.png',
  'shell/maskable-icon.png',
  'shell/touch-icon.png',
]

/** The files of the first page that it needs to be shown. The service worker keeps them. */
const keptByWorker = /^shell\/(?:index\.html|icon\.svg|[^/]+\.(?:js|css))$/

/** The names of the pages. */
export const pages = [
  'files',
  'photos',
  'trash',
  'links',
  'published',
  'account',
  'connect-app',
  'node',
  'chat',
  'wasm',
]

/** The pages that import a module only when they need it. It is a file of its own. */
const split = ['account', 'connect-app', 'files', 'links', 'photos']

/** The workers of pages, by their names in the bundle. */
const workers = { 'files/hash-worker': 'pages/files/hash-worker.ts' }

/**
 * Bundles the pages of the plugin `web` for browsers. Each page is complete by itself, as a page of any plugin. esbuild-wasm makes the same bytes on every platform.
 *
 * @returns the content of each file, by its path in the bundle
 */
export async function bundlePages(): Promise<Map<string, Uint8Array>> {
  const shell = { 'shell/shell': 'shell/main.ts', 'shell/shell.css': 'shell/shell.css' }
  const whole = pages.filter((name) => !split.includes(name)).map(entriesOf)
  const made = await Promise.all([
    bundled(Object.assign({}, ...whole)),
    bundled(shell, { splitting: true, chunkNames: 'shell/[name]' }),
    // Alone: several pages would share files.
    ...split.map((name) => bundled(entriesOf(name), { splitting: true, chunkNames: `${name}/[name]` })),
    bundled(workers),
  ])
  const plain = copied.map(async (path) => [path, await readFile(join(sources, path))] as const)
  const files = [...made.flat(), ...(await Promise.all(plain))]
  return new Map([...files, ...(await serviceWorker(files))])
}

type MadeFile = readonly [path: string, content: Uint8Array]

/** Bundles the service worker, which names the first page of its release by the SHA-256 of each file. */
function serviceWorker(files: readonly MadeFile[]): Promise<MadeFile[]> {
  const kept = files
    .filter(([path]) => keptByWorker.test(path))
    .map(([path, content]) => [
      path === 'shell/index.html' ? '/' : path.replace('shell', '/web'),
      createHash('sha256').update(content).digest('base64url'),
    ])
  const define = { shellFiles: JSON.stringify(Object.fromEntries(kept.sort())) }
  return bundled({ 'shell/service-worker': 'shell/service-worker.ts' }, { define })
}

/** Returns the sources of a page, by their names in the bundle. */
function entriesOf(name: string): Readonly<Record<string, string>> {
  return { [`${name}/page`]: `pages/${name}/page.ts`, [`${name}/page.css`]: `pages/${name}/page.css` }
}

/**
 * Bundles modules and stylesheets for browsers.
 *
 * @param entries the sources, by their names without `.js` in the bundle
 */
export async function bundled(
  entries: Readonly<Record<string, string>>,
  further: BuildOptions = {},
): Promise<MadeFile[]> {
  const { outputFiles = [] } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(
      Object.entries(entries).map(([name, source]) => [name, join(sources, source)]),
    ),
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
    ...further,
  })
  return outputFiles.map(
    ({ path, contents }) =>
      [relative(pagesFolder, path).replaceAll('\\', '/').replace('.css.css', '.css'), contents] as const,
  )
}
