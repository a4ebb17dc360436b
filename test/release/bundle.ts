/** `npm run bundle`: makes the bundles anew, after a library in them has another version. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild-wasm'
import { root } from '../run/command.ts'
import type { Manifest } from '../walls/packages.ts'

/**
 * TypeBox is 373 modules, and every node, command and test loads the SDK: as one file it loads in a fifth of the time.
 * The bundle is kept in the repository, so that sources run as they are.
 */
export const typeboxBundle = join(root, 'plugin-sdk/vendor/typebox.js')

/** What the bundle of TypeBox is to hold: what the SDK takes from the installed version, and its license. */
export async function bundleTypebox(): Promise<string> {
  const folder = join(root, 'node_modules/typebox')
  const { version }: Manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const license = await readFile(join(folder, 'license'), 'utf8')
  const { outputFiles } = await build({
    stdin: { contents: "export { Type } from 'typebox'", resolveDir: root },
    absWorkingDir: root,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'esnext',
    write: false,
    banner: {
      js: `/*\nTypeBox ${version} in one file, made by \`npm run bundle\`.\n\n${license.trim()}\n*/`,
    },
  })
  const [bundle] = outputFiles
  if (!bundle) throw new Error('The bundler made no file.')
  return bundle.text
}

if (import.meta.main) {
  await writeFile(typeboxBundle, await bundleTypebox())
  console.log(typeboxBundle)
}
