import type { FunctionComponent } from 'preact'
import type { Sign } from './wallet-proof.ts'

/** The properties of a way to sign in. */
interface SignInProps {
  /** Whether the node has no owner yet, so that this person becomes the owner. */
  readonly isNew: boolean
  /** Whether a sign-in in this way is running. */
  readonly working: boolean
  /** Runs a sign-in, shows its failure, and loads the session afterwards. */
  run(work: () => Promise<void>): Promise<void>
  /**
   * Signs in by a signature, with the claim code that the person typed.
   *
   * @param name the user name that a new person has chosen
   */
  signIn(address: string, sign: Sign, name?: string): Promise<void>
}

/** A way to sign in: a component that shows its buttons and its words. */
export type SignInMethod = FunctionComponent<SignInProps>
