import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { SyncConnection } from './sync-connection.ts'

/** The connections of all clients. */
export class SyncConnections {
  readonly #byUser = new Map<string, Set<SyncConnection>>()
  readonly #running = new Set<Promise<void>>()
  readonly #mostPerUser: number

  /** @param mostPerUser connections of one user */
  constructor(mostPerUser: number) {
    this.#mostPerUser = mostPerUser
  }

  /**
   * Runs a connection of a user until it is closed.
   *
   * A connection above the limit gets an error, and is closed.
   */
  async run(userUuid: string, connection: SyncConnection): Promise<void> {
    const own = this.#byUser.get(userUuid) ?? new Set()
    if (own.size >= this.#mostPerUser) {
      connection.fail(
        new NodekeepError(
          'TOO_MANY_REQUESTS',
          `You have ${this.#mostPerUser} connections already. Close one and try again.`,
        ),
      )
      return
    }
    this.#byUser.set(userUuid, own.add(connection))
    const running = connection.run()
    this.#running.add(running)
    await running
    this.#running.delete(running)
    own.delete(connection)
    if (own.size === 0) this.#byUser.delete(userUuid)
  }

  /** Closes other connections of the device of a connection. A client connects again before the node knows that it was cut off. */
  replaceOthers(userUuid: string, connection: SyncConnection, deviceId: string): void {
    for (const other of this.#byUser.get(userUuid) ?? []) {
      if (other === connection || other.deviceId !== deviceId) continue
      other.fail(new NodekeepError('CONFLICT', 'The device has connected again.'))
    }
  }

  isConnected(userUuid: string, deviceId: string): boolean {
    return [...(this.#byUser.get(userUuid) ?? [])].some((connection) => connection.deviceId === deviceId)
  }

  /** Closes the connection of a device that was removed. */
  closeDevice(userUuid: string, deviceId: string): void {
    for (const connection of this.#byUser.get(userUuid) ?? []) {
      if (connection.deviceId === deviceId) {
        connection.fail(new NodekeepError('NOT_FOUND', 'The device was removed.'))
      }
    }
  }

  /** Lets the connections of a user read new changes. */
  notice(userUuid: string): void {
    for (const connection of this.#byUser.get(userUuid) ?? []) connection.notice()
  }

  /** The devices that are connected. */
  deviceIds(): string[] {
    return this.#all().flatMap(({ deviceId }) => deviceId ?? [])
  }

  /** Checks whether all clients are alive, and whether anything has changed that nothing announces, such as a mount. */
  check(): void {
    for (const connection of this.#all()) {
      connection.beat()
      connection.notice()
    }
  }

  closeUser(userUuid: string): void {
    for (const connection of this.#byUser.get(userUuid) ?? []) {
      connection.fail(new NodekeepError('UNAUTHORIZED', 'The user was deleted.'))
    }
  }

  /** Waits for the end of all connections, which the node has closed. */
  async stop(): Promise<void> {
    for (const connection of this.#all()) connection.end()
    await Promise.all(this.#running)
  }

  #all(): SyncConnection[] {
    return [...this.#byUser.values()].flatMap((own) => [...own])
  }
}
