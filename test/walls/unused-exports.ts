import { sourceOf } from './import-graph.ts'
import type { Package } from './packages.ts'
import { everyName, type SourceProgram } from './program.ts'

/** Files that nothing imports: fixtures stand for code of others, and `*.types.ts` is only compiled. */
const notImported = /\/fixtures\/|\.types\.ts$/

/**
 * Checks that another file imports each export. The entries of packages are for others. A default export needs no import, since
 * the node and tests load such modules by their paths.
 *
 * @returns one line for each export that no other file imports
 */
export function checkUnusedExports(packages: readonly Package[], program: SourceProgram): string[] {
  const entries = new Set(packages.flatMap(entryFiles))
  const imported = program.importedNames()
  return program.files
    .filter(({ file }) => !entries.has(file) && !notImported.test(file))
    .flatMap(({ file }) => {
      const taken = imported.get(file)
      if (taken?.has(everyName)) return []
      return program
        .namesExportedBy(file)
        .filter((name) => name !== 'default' && !taken?.has(name))
        .map((name) => `${file}: no other file imports "${name}"; do not export it`)
    })
}

/** The sources of a package that others load: those of its exports, of its inner imports, and of the plugin. */
function entryFiles({ folder, manifest }: Package): string[] {
  const targets = [...Object.values(manifest.exports ?? {}), ...Object.values(manifest.imports ?? {})]
  return [...targets, { 'nodekeep-source': manifest.nodekeep?.source }].flatMap(
    (target) => sourceOf(folder, target) ?? [],
  )
}
