import { conflict, type NodeRestart } from '@nodekeep/plugin-sdk'

/** Passes the request for a restart on to the program that runs the node. */
export class KernelNodeRestart implements NodeRestart {
  readonly supervised: boolean
  /** Resolves with the reason of the first request. */
  readonly restartRequested: Promise<string>
  readonly #request: (reason: string) => void

  constructor(supervised: boolean) {
    const { promise, resolve } = Promise.withResolvers<string>()
    this.supervised = supervised
    this.restartRequested = promise
    this.#request = resolve
  }

  restart(reason: string): void {
    if (!this.supervised) {
      throw conflict(
        'Nothing would start the node again. Stop it and start it yourself, or let a service manager such as systemd start it again after exit code 75, and set "supervised": true.',
      )
    }
    this.#request(reason)
  }
}
