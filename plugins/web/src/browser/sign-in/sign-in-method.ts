import type { FunctionComponent } from 'preact'

/** The properties of a way to sign in. */
interface SignInProps {
  /** Whether a sign-in in this way is running. */
  readonly working: boolean
  /** Runs a sign-in, shows its failure, and loads the session afterwards. */
  run(work: () => Promise<void>): Promise<void>
  /**
   * Signs in by a signature (EIP-191, `personal_sign`), with the claim code that the person typed.
   *
   * @param sign resolves to `0x` and hexadecimal digits
   */
  signIn(address: string, sign: (message: string) => Promise<string>): Promise<void>
}

/** A way to sign in: a component that shows its buttons and its words. */
export type SignInMethod = FunctionComponent<SignInProps>
