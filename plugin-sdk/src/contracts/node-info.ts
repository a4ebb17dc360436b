import { defineService } from '../service.ts'

/** The version, build, start, place, command line, plugins and ownership of the running node. Only the last two change while it runs. */
export interface NodeInfo {
  /** The version of the kernel, `<major>.<minor>.<patch>`. */
  readonly version: string
  /** The commit that it was built from, 40 hexadecimal digits. `null` where nothing records it, as in copied sources. */
  readonly commit: string | null
  /** When it was built; from sources, and for packages that were built reproducibly, the time of the commit. */
  readonly buildDate: Date | null
  readonly startedAt: Date
  /**
   * How it was installed: `sources` is a checkout of the repository, `packages` are packages of npm, `release` is an
   * archive with everything in it, which has a `release.json`.
   */
  readonly installation: 'sources' | 'packages' | 'release'
  /** The absolute path of the checkout, of the kernel's package, or of the release. */
  readonly folder: string
  /** The words that run its command line in a shell on its machine, such as `nodekeep` or `npm start --`, for messages to people. */
  readonly command: string
  /** The plugins that work now, in the order of their start, with the versions of their packages. */
  plugins(): readonly { readonly id: string; readonly version: string }[]
  /** The ids of plugins that the configuration enables and that do not work now: they failed, or somebody switched them off. */
  absentPlugins(): readonly string[]
  /** Resolves with whether the node has an owner. A wallet in `auth.owner` counts, also before its first sign-in. */
  isClaimed(): Promise<boolean>
  /**
   * Resolves with whether this is the claim code of a node without an owner, as the person typed it. A route that takes it needs a limit
   * for each client address.
   */
  mayClaim(code: string): Promise<boolean>
}

/** The kernel's service that describes the running node. */
export const NodeInfo = defineService<NodeInfo>('node-info', 1)
