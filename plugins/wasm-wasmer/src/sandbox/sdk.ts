import { setEnvironmentData } from 'node:worker_threads'
import type { Wasmer } from '#wasmer-sdk'

/** Builds a sandbox of the SDK. */
interface SandboxBuilder {
  /** Mounts a folder that `__wasmerHostFileSystem` answers for. */
  mountHost(path: string, mount: number, readOnly: boolean): void
  /** Lets it answer for `/workspace`. */
  storageHost(mount: number): void
  start(): Promise<unknown>
}

/** The parts of the SDK's layer below its public interface that are used here: pkg/wasmer_sdk_js.d.ts. */
interface Core {
  readonly SandboxBuilderCore: { readonly prototype: SandboxBuilder }
  setWorkerUrl(url: string): void
}

/** A folder to mount. Its number is its index. */
interface MountPoint {
  readonly guestPath: string
  readonly writable: boolean
}

/** The SDK, ready to run. */
export interface Sdk {
  readonly wasmer: Wasmer
  /** Sets the folders of programs that are started from now on. */
  mount(points: readonly MountPoint[]): void
}

/**
 * Loads the SDK. Its public interface has no folders but `/workspace`. The authors call the layer below it experimental,
 * so this package depends on exactly one version.
 *
 * @param url of the SDK's entry for Node
 */
export async function loadSdk(url: string): Promise<Sdk> {
  const { Wasmer } = (await import(url)) as typeof import('#wasmer-sdk')
  const core = (await import(new URL('../pkg/wasmer_sdk_js.js', url).href)) as Core
  const wasmer = new Wasmer({ cache: false })
  await wasmer.ready()
  // From the sources, this file and the other one are TypeScript.
  const worker = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)
  setEnvironmentData('sdk', url)
  core.setWorkerUrl(worker.href)
  const builder = core.SandboxBuilderCore.prototype
  const start = builder.start
  let mounts: readonly MountPoint[] = []
  builder.start = function mountFirst() {
    for (const [number, { guestPath, writable }] of mounts.entries()) {
      if (guestPath === '/workspace') this.storageHost(number)
      else this.mountHost(guestPath, number, !writable)
    }
    return start.call(this)
  }
  return {
    wasmer,
    mount: (points) => {
      mounts = points
    },
  }
}
