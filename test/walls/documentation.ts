import { sourceOf } from './import-graph.ts'
import type { Package } from './packages.ts'
import type { SourceProgram } from './program.ts'

/**
 * Checks that every export of the SDK and of the kernel has a doc comment at its declaration. Exports of a library that they
 * pass on are documented by the library.
 *
 * @returns one line for each export without a doc comment
 */
export function checkDocumentation(packages: readonly Package[], program: SourceProgram): string[] {
  return packages
    .filter(({ kind }) => kind === 'sdk' || kind === 'kernel')
    .flatMap((entry) => entryFiles(entry).flatMap((file) => undocumented(entry, file, program)))
}

function entryFiles({ folder, manifest }: Package): string[] {
  return Object.values(manifest.exports ?? {}).flatMap((target) => sourceOf(folder, target) ?? [])
}

function undocumented({ folder }: Package, entry: string, program: SourceProgram): string[] {
  return program
    .exportsOf(entry)
    .filter(({ file, documented }) => !documented && file.startsWith(`${folder}/src/`))
    .map(({ name, file }) => `${file}: "${name}", which ${entry} exports, has no doc comment`)
}
