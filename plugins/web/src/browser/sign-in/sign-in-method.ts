import type { FunctionComponent } from 'preact'
import type { Sign } from './wallet-proof.ts'

/** The properties of a way to sign in. */
interface SignInProps {
  /** The sign-in code in the address, as a QR code has it; empty if there is none. */
  readonly code: string
  /** Whether a sign-in in this way is running. */
  readonly working: boolean
  /** The reason why the last one in this way failed; empty if it did not. */
  readonly fault: string
  /** Runs a sign-in, and loads the session afterwards. */
  run(work: () => Promise<void>): Promise<void>
  /** Signs in by a signature, with the claim code that the person typed. Call it within `run`. */
  signIn(address: string, sign: Sign): Promise<void>
  /** Signs in with the key that this browser keeps, once it is decrypted, and loads the session afterwards. */
  enterWith(key: Uint8Array): Promise<void>
  /**
   * Shows a new key to the person, who then signs in with it.
   *
   * @param name the user name that they have chosen
   */
  keep(key: Uint8Array, name: string): void
}

/** A way to sign in: a component that shows its fields and buttons. */
export type SignInMethod = FunctionComponent<SignInProps>
