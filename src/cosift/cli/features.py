"""``cosift features``: raw recordings to tables of features."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

from cosift.cli._common import Debug, Json, Output, Quiet, Seed, UsageError
from cosift.cli._files import TABLES, check_output
from cosift.cli._run import Workers

__all__ = ["app"]

WRITTEN = (*TABLES, ".npz")
IMAGES = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
ARRAYS = (".npy", ".npz")
VIDEOS = (".avi", ".mp4", ".mkv", ".mov", ".webm", ".mpg", ".mpeg", ".m4v", ".wmv", ".flv")

app = typer.Typer(no_args_is_help=True, help="Turn raw recordings into tables of features.")

Table = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="The table to write: .parquet, .csv, .tsv or .npz.",
        show_default=False,
    ),
]
Codebook = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Use the words in this .npz file; if there is none yet, learn them and keep them "
        "there.",
        show_default=False,
    ),
]
# As many as the paper's applications have.
WORDS_OF_IMAGES, WORDS_OF_CLIPS = 500, 2000
WORDS = "Size of the codebook."
WordsOfImages = Annotated[
    int | None, typer.Option("--words", min=1, help=WORDS, show_default=str(WORDS_OF_IMAGES))
]
WordsOfClips = Annotated[
    int | None, typer.Option("--words", min=1, help=WORDS, show_default=str(WORDS_OF_CLIPS))
]
Assignment = Annotated[
    Literal["hard", "soft"],
    typer.Option(help="Count a descriptor for its nearest word, or share it among the nearest."),
]
Norm = Annotated[
    Literal["l1", "l2", "sqrt", "none"],
    typer.Option(help="Scale histograms to sum 1, to length 1, to sum 1 then root; or not at all."),
]
Sample = Annotated[
    int,
    typer.Option(min=1, help="Descriptors that words are learned from, drawn from all files."),
]
Kept = Annotated[
    Path | None,
    typer.Option(
        "--descriptors",
        metavar="DIR",
        help="Keep the descriptors of every file here. The same command continues what DIR holds, "
        "and 'features bow DIR' makes other histograms of them.",
        show_default=False,
    ),
]


@app.command(
    epilog="Example: cosift features skeleton frames.npz --joints humaneva -o skeleton.parquet"
)
def skeleton(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Positions of joints: .npz or .npy (frames x joints x 3), a table with columns x, "
            "y, z for each joint, or a folder of such files.",
            show_default=False,
        ),
    ],
    output: Table,
    joints: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Names of the joints in their order, with commas between them; or 'humaneva' (15) "
            "or 'msraction3d' (20).",
            show_default="as the file says, or by number",
        ),
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(
            metavar="JOINT",
            help="The joint that coordinates are about, by name or number from 0.",
            show_default="pelvis, or else the first",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A column of a table that stays beside the features, such as a class; may be "
            "given several times. Of .npz files all stay.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Joint positions -> coordinates about a root joint and distances of all pairs of joints."""
    with Output(json=json, quiet=quiet, debug=debug) as out:
        from cosift.cli import _histograms, _recordings, _skeletons
        from cosift.features import SkeletonFeatures

        check_output(output, WRITTEN)
        skipped = _recordings.Skipped(out)
        if data.is_dir():
            files = _recordings.find(data, (*ARRAYS, *_skeletons.TABLES))
            motions = _skeletons.read_motions(files, keep or (), skipped)
            _histograms.end_if_none(list(motions), skipped, len(files))
            motion = _skeletons.join(motions)
        else:
            files = [_recordings.Recording(data.name, data)]
            motion = _skeletons.read_motion(data, keep or ())
        names, middle = _skeletons.names_and_root(joints, root, motion)
        motion, lost = motion.tracked()
        if lost:
            out.note(
                f"Left out {lost} frames in which joints are missing, or all in one place.",
                style="yellow",
            )
        features = SkeletonFeatures(names, root=middle).fit(motion.positions)
        _histograms.finish(
            output,
            features.transform(motion.positions),
            features.get_feature_names_out().astype(str),
            motion.columns,
            skipped,
            len(files),
            left_out=lost,
        )


@app.command(
    epilog="Example: cosift features bow photos --words 500 --codebook words.npz -o photos.parquet"
)
def bow(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="Images; or arrays (.npy, .npz) of one descriptor a row, one file an item. Files "
            "in folders get the column 'class' with the folder's name.",
            show_default=False,
        ),
    ],
    output: Table,
    words: WordsOfImages = None,
    codebook: Codebook = None,
    assignment: Assignment = "hard",
    norm: Norm = "l1",
    sample: Sample = 100_000,
    longest_edge: Annotated[
        int | None,
        typer.Option(
            min=16,
            metavar="PIXELS",
            help="Shrink larger images to this width or height before SIFT.",
            show_default=False,
        ),
    ] = None,
    descriptors: Kept = None,
    workers: Workers = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Local descriptors -> a codebook by k-means -> histograms; of images by way of SIFT."""
    with Output(json=json, quiet=quiet, debug=debug) as out:
        from cosift.cli import _histograms, _recordings
        from cosift.features import sift_descriptors

        check_output(output, WRITTEN)
        bag = _histograms.make_bag(
            codebook,
            words,
            WORDS_OF_IMAGES,
            assignment=assignment,
            norm=norm,
            sample_size=sample,
            random_state=seed,
        )
        files = _recordings.find(folder, (*IMAGES, *ARRAYS))
        _recordings.check_classes(files)
        arrays = [file for file in files if file.path.suffix.lower() in ARRAYS]
        skipped = _recordings.Skipped(out)
        if len(arrays) == len(files):
            _refuse_for_arrays(longest_edge=longest_edge, descriptors=descriptors)
            arrays = [_recordings.without_ending(array) for array in arrays]
            _histograms.write_histograms(output, arrays, bag, codebook, skipped, len(files))
            return
        if arrays:
            raise UsageError(
                f"{folder}: expected either images or arrays of descriptors. Found "
                f"{len(files) - len(arrays)} and {len(arrays)}."
            )
        with _descriptors(descriptors, output) as kept:
            function = partial(sift_descriptors, longest_edge=longest_edge)
            settings = {"descriptors": "SIFT", "longest_edge": longest_edge}
            described = _recordings.describe(files, function, kept, settings, workers, skipped)
            _histograms.write_histograms(output, described, bag, codebook, skipped, len(files))


@app.command(epilog="Example: cosift features mbh hmdb51 --descriptors hmdb51-mbh -o mbh.parquet")
def mbh(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="Video clips. Clips in folders, one a class as in HMDB51, get the column 'class' "
            "with the folder's name.",
            show_default=False,
        ),
    ],
    output: Table,
    words: WordsOfClips = None,
    codebook: Codebook = None,
    assignment: Assignment = "hard",
    norm: Norm = "l1",
    sample: Sample = 100_000,
    scales: Annotated[
        int,
        typer.Option(
            min=1,
            help="At most so many sizes of a frame, each smaller by the square root of 2.",
        ),
    ] = 8,
    tracks: Annotated[
        int,
        typer.Option(min=1, help="At most so many tracks of a clip, drawn from all of them."),
    ] = 10_000,
    descriptors: Kept = None,
    workers: Workers = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Video clips -> motion boundary histograms along tracks -> a codebook -> histograms."""
    with Output(json=json, quiet=quiet, debug=debug) as out:
        from cosift.cli import _histograms, _recordings
        from cosift.features import MotionBoundaryHistograms

        check_output(output, WRITTEN)
        bag = _histograms.make_bag(
            codebook,
            words,
            WORDS_OF_CLIPS,
            assignment=assignment,
            norm=norm,
            sample_size=sample,
            random_state=seed,
        )
        files = _recordings.find(folder, VIDEOS)
        _recordings.check_classes(files)
        skipped = _recordings.Skipped(out)
        with _descriptors(descriptors, output) as kept:
            transformer = MotionBoundaryHistograms(n_scales=scales, max_descriptors=tracks)
            settings = {"descriptors": "MBH", "scales": scales, "tracks": tracks}
            described = _recordings.describe(
                files, transformer.describe, kept, settings, workers, skipped
            )
            _histograms.write_histograms(output, described, bag, codebook, skipped, len(files))


@contextmanager
def _descriptors(kept: Path | None, output: Path) -> Iterator[Path]:
    """A folder for descriptors: the user's, or one beside the output that goes away again."""
    # What decoders print would tear the progress bar; what matters of it is in our errors.
    os.environ |= {"OPENCV_FFMPEG_LOGLEVEL": "-8", "OPENCV_LOG_LEVEL": "OFF"}
    if kept is not None:
        try:
            yield kept
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"Interrupted. Descriptors are kept in {kept}; the same command continues."
            ) from None
        return
    with TemporaryDirectory(dir=output.parent, prefix=".cosift-") as folder:
        yield Path(folder)


def _refuse_for_arrays(**options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"--{name.replace('_', '-')} is for images. Found descriptors only.")
