/**
 * The messages between a node and the program that has started it: a supervisor, or a node that tries something on a second one. They cross
 * versions: the supervisor of one release runs the node of another one. So a message and its fields keep their meaning, and a receiver
 * ignores what it does not know.
 */

/** A message of the parent to the node. */
export type FromParent =
  /** The first message of a supervisor. The node waits for it. */
  | {
      readonly nodekeep: 'supervisor'
      /** The absolute path of the folder for releases. */
      readonly releases: string
      /** Whether the node lets no client in before it is admitted. */
      readonly onTrial: boolean
    }
  /** Asks a node on trial for its health. */
  | { readonly nodekeep: 'health' }
  /** Lets clients in. */
  | { readonly nodekeep: 'admit' }
  /** Asks whether the event loop of the node turns. */
  | { readonly nodekeep: 'alive' }
  /** The answer to a request; `refused` is a sentence for people, or `null` if the change has begun. */
  | { readonly nodekeep: 'answer'; readonly id: number; readonly refused: string | null }
  /** Ends the node. It waits for requests that run, for up to `patienceMs` milliseconds, before it stops to listen. */
  | { readonly nodekeep: 'stop'; readonly patienceMs: number }
  /** The answer to `configure`: the sources of the configuration, and a folder that the node removes when it ends. */
  | { readonly nodekeep: 'configuration'; readonly sources: unknown; readonly temporary: string | null }
  /** Asks a node on trial for a session of the user with this uuid. */
  | { readonly nodekeep: 'session'; readonly user: string }
  /** The launcher of a checkout, which has a channel to the node, was started without one. */
  | { readonly nodekeep: 'no parent' }

/** A message of the node to its parent. */
export type ToParent =
  | {
      readonly nodekeep: 'on trial'
      /** The migrations that this start has run and that the former release cannot undo, by name. */
      readonly contractions: readonly string[]
    }
  | {
      readonly nodekeep: 'health'
      /** Whether all required checks pass and all required plugins are up. */
      readonly serving: boolean
      /** One phrase for each that fails. */
      readonly failing: readonly string[]
    }
  | { readonly nodekeep: 'serving'; readonly url: string }
  | { readonly nodekeep: 'alive' }
  /** Asks for the configuration. */
  | { readonly nodekeep: 'configure' }
  /** A session; `null` if there is no such user. */
  | { readonly nodekeep: 'session'; readonly user: string; readonly token: string | null }
  /** The node ends with the code 1, since it cannot start. */
  | {
      readonly nodekeep: 'cannot start'
      /** One sentence for people. */
      readonly reason: string
      /** Whether the configuration has to be changed, which no other release would help. */
      readonly isConfiguration: boolean
    }
  | ReleaseRequest

/** A request of the node for another release. */
export type ReleaseRequest =
  | {
      readonly nodekeep: 'change release'
      readonly id: number
      /** The version, which is the name of its folder too. */
      readonly release: string
      /** Milliseconds that the node waits for requests that run before it stops to listen. */
      readonly patienceMs: number
      /** Whether the new release may run migrations that the former one cannot undo. */
      readonly withoutWayBack: boolean
    }
  | { readonly nodekeep: 'go back'; readonly id: number; readonly reason: string }
