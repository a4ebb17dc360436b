import {
  Connections,
  NodeAddress,
  NodeIdentity,
  NodeInfo,
  NodeRestart,
  Restores,
  Supervisor,
  Trials,
  UserDirectory,
} from '@nodekeep/plugin-sdk'
import { tokenKey } from '@nodekeep/plugin-sdk/host'

/** The keys of the services that the kernel itself provides to plugins. */
export const kernelServices: ReadonlySet<string> = new Set(
  [
    UserDirectory,
    NodeAddress,
    Connections,
    NodeRestart,
    Restores,
    Supervisor,
    NodeInfo,
    NodeIdentity,
    Trials,
  ].map(tokenKey),
)

/** The implementations of the services that are available now, by token key. */
export class ServiceDirectory {
  readonly #implementations = new Map<string, unknown>()

  get(key: string): unknown {
    return this.#implementations.get(key)
  }

  provide(key: string, implementation: unknown): void {
    this.#implementations.set(key, implementation)
  }

  withdraw(key: string): void {
    this.#implementations.delete(key)
  }
}
