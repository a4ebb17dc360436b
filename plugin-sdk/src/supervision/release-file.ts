/**
 * The content of `release.json` at the top of a release, which describes it. A node reads this file of newer and older releases: readers
 * ignore fields that they do not know, and no field changes its meaning.
 */
export interface ReleaseFile {
  /** `<major>.<minor>.<patch>` */
  readonly version: string
  /** The systems that it runs on, as Node calls them: `<os>-<arch>`, such as `linux-x64`. */
  readonly platform: string
  /** The commit of the sources; `null` where they were no checkout. */
  readonly commit: string | null
  /** ISO 8601, in UTC: the date of the commit, or that of `SOURCE_DATE_EPOCH`. */
  readonly buildDate: string
  /** The version of its Node, without a `v`. */
  readonly node: string
  /** The version of its SDK. */
  readonly sdk: string
  /** The steps of the kernel's own tables, in order. A step that is a `contract` cannot be undone by an earlier release. */
  readonly schema: readonly { readonly id: string; readonly change: 'expand' | 'contract' }[]
}
