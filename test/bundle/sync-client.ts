import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build, type Metafile, type Plugin } from 'esbuild-wasm'
import { root } from '../run/command.ts'

const fileSync = join(root, 'plugins/file-sync')

/** The folder with the client that the plugin `file-sync` serves. */
export const syncClientFolder = join(fileSync, 'bundle')

/** The plugin serves the file under this name. */
const fileName = 'nodekeep-sync.cjs'

/** Of the manifest, the bundle has these two only. */
const entry = `
import { isMainThread } from 'node:worker_threads'
import { engines, version } from './package.json'
import { start } from './src/client/cli/start.ts'
if (isMainThread) start({ engines, version })
else import('../../plugin-sdk/src/watch-folder/watch-thread.ts')
`

/**
 * Bundles the command `nodekeep-sync` with its libraries: one file that needs nothing but Node. It is a CommonJS module. A library
 * is evaluated only where it is imported at first use, and an older Node, which lacks some modules of Node, gets as far as the
 * message that says so. Such a file also runs under a name without extension.
 *
 * @returns the content of the file, by its name
 */
export async function bundleSyncClient(): Promise<Map<string, Uint8Array>> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    stdin: { contents: entry, resolveDir: fileSync, loader: 'js' },
    outfile: join(syncClientFolder, fileName),
    write: false,
    metafile: true,
    bundle: true,
    minify: true,
    // If the command fails, Node prints the line.
    lineLimit: 200,
    format: 'cjs',
    platform: 'node',
    target: 'node18',
    conditions: ['nodekeep-source'],
    // Otherwise `ws` loads what lies beside the file under these names.
    define: { 'process.env.WS_NO_BUFFER_UTIL': 'true', 'process.env.WS_NO_UTF_8_VALIDATE': 'true' },
    banner: { js: '#!/usr/bin/env node' },
    plugins: [watchThreadInBundle],
    legalComments: 'inline',
    charset: 'utf8',
    logLevel: 'warning',
  })
  const [output] = outputFiles
  if (output === undefined) throw new Error('esbuild has made no file.')
  return new Map([[fileName, Buffer.concat([output.contents, Buffer.from(await licensesOf(metafile))])]])
}

/** In the bundle, the thread that watches a folder runs the file of the program. */
const watchThreadInBundle: Plugin = {
  name: 'watch-thread',
  setup({ onLoad }) {
    onLoad({ filter: /plugin-sdk\/src\/watch-folder\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const contents = source.replace(
        "moduleBeside(import.meta.url, 'watch-folder/watch-thread')",
        '__filename',
      )
      if (contents === source) throw new Error(`${path} names its thread in another way.`)
      return { contents, loader: 'ts' }
    })
  },
}

/** Returns a comment with the licenses of the libraries in a bundle: a person who gets the bundle must get them too. */
async function licensesOf({ outputs }: Metafile): Promise<string> {
  const used = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  )
  const libraries = new Set(
    used.flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []),
  )
  const texts = [...libraries].sort().map(async (library) => {
    const folder = join(root, library)
    const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry))
    if (file === undefined) throw new Error(`${library} has no license.`)
    const text = await readFile(join(folder, file), 'utf8')
    return `${name} ${version} (${license})\n\n${text.trim()}\n`
  })
  const comment = ['Nodekeep (Apache-2.0), with these libraries:\n', ...(await Promise.all(texts))].join('\n')
  if (comment.includes('*/')) throw new Error('A license ends the comment.')
  return `/*!\n${comment}*/\n`
}
