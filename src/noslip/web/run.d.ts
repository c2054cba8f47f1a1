/** Numbers of a run that differ from those it was written with, by name, in SI units. */
export interface Values {
  parameters?: Record<string, number>;
  start?: Record<string, number>;
  inputs?: Record<string, number>;
  numbers?: Record<string, number>;
}

/** A start that contradicts the constraints, or a name that the run does not know. */
export class RunError extends Error {}

/** Samples of a run, up to where it ended. */
export interface Result {
  readonly columns: string[];
  /** Times of the samples, s. */
  readonly times: Float64Array;
  /** All samples, one row of columns after the other. */
  readonly table: Float64Array;
  /** The columns at the end. */
  readonly final: Float64Array;
  /** Time of the end, s. */
  readonly end: number;
  /** Whether the whole duration was simulated. */
  readonly isFinished: boolean;
  /** In words, why the run ended before; empty if it did not. */
  readonly sentence: string;
  readonly steps: number;
  readonly rejections: number;
  readonly evaluations: number;
  /** A column of the samples. */
  column(name: string): Float64Array;
}

/** The state after a step. */
export interface Moment {
  /** s */
  readonly time: number;
  /** The columns now. */
  readonly row: Float64Array;
  /** In words, why the motion cannot go on; empty if it can. */
  readonly sentence: string;
}

export class Run {
  static of(plan: object, code?: BufferSource | null): Promise<Run>;
  readonly columns: string[];
  readonly units: Record<string, string>;
  /** Times of the samples, s. */
  readonly times: Float64Array;
  /** Simulate from the start to the end. */
  simulate(values?: Values): Result;
  /** Begin a motion that goes on step by step. */
  begin(values?: Values): Moment;
  /** Go on for some seconds, with inputs that stay until the next step. */
  step(seconds: number, inputs?: Record<string, number>): Moment;
}

/** Where everything is in the memory of the module. */
export const plan: object;

/** The run of {{model}}, with the module beside this file or its bytes. */
export function open(code?: BufferSource | null): Promise<Run>;
