/** The kept files that a backup has. By default it has none. */
export interface IncludedKept {
  readonly trash: boolean
  readonly versions: boolean
}

/** Reads the options of a backup. */
export function includedKept({ include }: { readonly include: readonly string[] }): IncludedKept {
  return { trash: include.includes('trash'), versions: include.includes('versions') }
}

/** Says which kept files are left out; null if none are. */
export function keptOmission({ trash, versions }: IncludedKept): string | null {
  if (trash && versions) return null
  if (trash) return 'The former versions of files are left out.'
  return versions ? 'The trash is left out.' : 'The trash and former versions of files are left out.'
}
